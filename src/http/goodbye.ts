import { once } from 'node:events';
import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** How the service parts from its clients: at once where nobody else serves them, and else with some time. */
export class Goodbye {
  readonly #hurry = new AbortController();
  #milliseconds = 0;

  /** Called before it is said. */
  allow(milliseconds: number): void {
    this.#milliseconds = milliseconds;
  }

  /** Ends the time that was allowed. */
  hurry(): void {
    this.#hurry.abort();
  }

  /**
   * Accepts no more connections, and waits for those that are open: each answer says by now that its connection ends,
   * so that no client sends a request into one that is being closed. Only what is idle all the time is cut afterwards.
   */
  async say(server: Server): Promise<void> {
    const { signal } = this.#hurry;
    if (this.#milliseconds === 0 || signal.aborted || !server.listening) return;
    const ended = once(server, 'close', { signal });
    // The `close` of an HTTP server would end idle connections at once.
    NetServer.prototype.close.call(server);
    const enough = sleep(this.#milliseconds, undefined, { ref: false, signal });
    await Promise.race([ended, enough]).catch(() => {});
    this.#hurry.abort();
    await Promise.allSettled([ended, enough]);
  }
}
