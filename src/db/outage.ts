const BETWEEN_PROBES_MILLISECONDS = 250;

/**
 * Begins when a database turns out to be away, or not to be written, and lasts until a probe succeeds: it ends by itself,
 * also where readiness keeps all requests away meanwhile.
 */
export class Outage {
  readonly #probe: () => Promise<unknown>;
  readonly #onEnd: () => void;
  #isOn = false;
  #isClosed = false;
  #callOff: () => void = () => {};

  constructor(probe: () => Promise<unknown>, onEnd = () => {}) {
    this.#probe = probe;
    this.#onEnd = onEnd;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** True where it was not on already. */
  begin(): boolean {
    if (this.#isOn || this.#isClosed) return false;
    this.#isOn = true;
    void this.#probeUntilAnswered();
    return true;
  }

  close(): void {
    this.#isClosed = true;
    this.#callOff();
  }

  async #probeUntilAnswered(): Promise<void> {
    while (!this.#isClosed) {
      const isOver = await this.#probe().then(
        () => true,
        () => false,
      );
      if (isOver) break;
      await this.#pause();
    }
    this.#isOn = false;
    if (!this.#isClosed) this.#onEnd();
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, BETWEEN_PROBES_MILLISECONDS);
      this.#callOff = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
