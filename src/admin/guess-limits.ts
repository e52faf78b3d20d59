import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { tooManyAttempts } from '../errors.ts';

/** Wrong ones within a minute, after which the next has to wait. */
const MOST_PER_ACCOUNT = 5;
const MOST_PER_ADDRESS = 50;
const WINDOW_MILLISECONDS = 60_000;
const FIRST_WAIT_MILLISECONDS = 10_000;
const LONGEST_WAIT_MILLISECONDS = 300_000;
/** How long nothing wrong must come until a wait is forgotten, and the next begins with the shortest again. */
const FORGET_MILLISECONDS = 600_000;
/** How many are turned away during one wait until a remembered password is turned away as well. */
const MOST_TURNED_AWAY = 300;
/** The memory that all of this takes is bounded; the least recent is forgotten first. */
const REMEMBERED = 10_000;

/** What came from one address, for one account or for all of them. */
interface Tally {
  readonly most: number;
  wrong: number;
  /** When the first of the wrong ones came. */
  since: number;
  /** Being checked now; each may turn out to be wrong. */
  underWay: number;
  waits: number;
  waitsUntil: number;
  turnedAway: number;
}

const NOTHING_WRONG = { wrong: 0, since: 0, waits: 0, waitsUntil: 0, turnedAway: 0 };

/** One check of a password; exactly one of the three tells how it went. */
export interface Attempt {
  right(): void;
  wrong(): void;
  /** It was not checked after all. */
  undone(): void;
}

/**
 * Slows guessers down, by account and address together: whoever guesses makes others wait at the same address at most,
 * never an owner who comes from another one. In memory, so each process counts for itself.
 */
export class GuessLimits {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #accounts = new LRUCache<string, Tally>({ max: REMEMBERED });
  readonly #addresses = new LRUCache<string, Tally>({ max: REMEMBERED });

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Throws 429 where the account or the address has to wait. */
  begin(email: string, address: string): Attempt {
    const all = this.#tally(this.#addresses, networkOf(address), MOST_PER_ADDRESS);
    this.#admit(all);
    const own = this.#tally(this.#accounts, keyOf(email, address), MOST_PER_ACCOUNT);
    this.#admit(own);
    const both = [all, own];
    for (const tally of both) tally.underWay += 1;
    const end = () => {
      for (const tally of both) tally.underWay -= 1;
    };
    return {
      undone: end,
      wrong: () => {
        end();
        for (const tally of both) this.#countWrong(tally);
      },
      right: () => {
        end();
        Object.assign(own, NOTHING_WRONG);
      },
    };
  }

  /** A wrong API key; throws 429 where its address has to wait. No account is known, and none waits. */
  countWrongKey(address: string): void {
    const tally = this.#tally(this.#addresses, networkOf(address), MOST_PER_ADDRESS);
    this.#admit(tally);
    this.#countWrong(tally);
  }

  /**
   * Whether a password that was right a moment ago, from the same address, may pass while others guess there. Not for
   * ever: a guesser would learn by it that he guessed right.
   */
  trustsRemembered(email: string, address: string): boolean {
    const own = this.#accounts.get(keyOf(email, address));
    const all = this.#addresses.get(networkOf(address));
    const now = this.#clock.now();
    return [own, all].every(
      (tally) => tally === undefined || tally.waitsUntil <= now || tally.turnedAway < MOST_TURNED_AWAY,
    );
  }

  #tally(tallies: LRUCache<string, Tally>, key: string, most: number): Tally {
    const known = tallies.get(key);
    if (known !== undefined) return this.#forgetOld(known);
    const fresh = { ...NOTHING_WRONG, most, underWay: 0 };
    tallies.set(key, fresh);
    return fresh;
  }

  #forgetOld(tally: Tally): Tally {
    const now = this.#clock.now();
    // A clock that is set back makes nobody wait for longer, and remembers nothing for longer.
    tally.since = Math.min(tally.since, now);
    tally.waitsUntil = Math.min(tally.waitsUntil, now + LONGEST_WAIT_MILLISECONDS);
    const isSlowed = tally.waits > 0;
    const end = isSlowed ? tally.waitsUntil + FORGET_MILLISECONDS : tally.since + WINDOW_MILLISECONDS;
    if (now >= end) Object.assign(tally, NOTHING_WRONG);
    return tally;
  }

  #admit(tally: Tally): void {
    const left = tally.waitsUntil - this.#clock.now();
    if (left > 0) {
      tally.turnedAway += 1;
      throw tooManyAttempts(Math.ceil(left / 1000));
    }
    // After a wait one at a time is let in, so that a flood of them at once is no way around.
    if (tally.underWay >= Math.max(1, tally.most - tally.wrong)) throw tooManyAttempts(1);
  }

  #countWrong(tally: Tally): void {
    const now = this.#clock.now();
    if (tally.wrong === 0) tally.since = now;
    tally.wrong += 1;
    if (tally.wrong < tally.most) return;
    tally.waitsUntil = now + Math.min(FIRST_WAIT_MILLISECONDS * 2 ** tally.waits, LONGEST_WAIT_MILLISECONDS);
    tally.waits += 1;
    tally.turnedAway = 0;
  }
}

const keyOf = (email: string, address: string): string =>
  JSON.stringify([email.toLowerCase().slice(0, 300), networkOf(address)]);

/** Whoever has one IPv6 address has the other 2^64 of its network. */
export function networkOf(address: string): string {
  if (isIPv4(address) || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString();
}
