import type { Clock } from '../clock.ts';
import type { Database, Queries } from '../db/database.ts';
import type { AccessTokenClaims } from './access-token.ts';

const NAME = 'expiry_floor';

interface Floor {
  /** Whatever ended before it may be forgotten. */
  endedBefore: number;
  /** Where the clock was set back below that: tokens that were issued from then on are not meant. */
  issuedBefore: number;
}

/**
 * Revocations are forgotten once their tokens have expired. Should the clock have been ahead then, and be set right, those
 * tokens would be young again and nobody would know that they were revoked. So nothing is forgotten but below a floor
 * that is written down first, and what lies below it stays expired, whatever the clock says; but for what is issued once
 * the clock shows less than the floor.
 */
export class ExpiryFloor {
  readonly #deps: { database: Database; clock: Pick<Clock, 'now'> };
  #floor: Floor = { endedBefore: 0, issuedBefore: Number.POSITIVE_INFINITY };

  constructor(deps: { database: Database; clock: Pick<Clock, 'now'> }) {
    this.#deps = deps;
  }

  get endedBefore(): number {
    return this.#floor.endedBefore;
  }

  /** By the floor alone; the clock is another question. */
  hasEnded({ exp, iat }: Pick<AccessTokenClaims, 'exp' | 'iat'>): boolean {
    if (exp * 1000 > this.#floor.endedBefore) return false;
    this.notice();
    return iat * 1000 < this.#floor.issuedBefore;
  }

  /** To be called before a token is issued: it must not look as if it were from before the clock was set back. */
  notice(): void {
    const now = this.#deps.clock.now();
    const { endedBefore, issuedBefore } = this.#floor;
    if (now >= endedBefore || now >= issuedBefore) return;
    this.#floor = { endedBefore, issuedBefore: now - (now % 1000) };
  }

  /** Takes over what other processes know, and tells them what this one has noticed. */
  async share(): Promise<void> {
    const { database } = this.#deps;
    const stored = await read(database.reader);
    this.#merge(stored);
    this.notice();
    const isNews = (known: Floor) =>
      known.endedBefore === this.#floor.endedBefore && this.#floor.issuedBefore < known.issuedBefore;
    if (!isNews(stored)) return;
    await database.readCommitted(async (tx) => {
      if (isNews(await read(tx))) await write(tx, this.#floor);
    });
  }

  /** Every process has to have learnt of it before anything below it is forgotten. */
  async raise(endedBefore: number): Promise<void> {
    await this.#deps.database.readCommitted(async (tx) => {
      if ((await read(tx)).endedBefore >= endedBefore) return;
      await write(tx, { endedBefore, issuedBefore: Number.POSITIVE_INFINITY });
    });
  }

  #merge(stored: Floor): void {
    if (stored.endedBefore < this.#floor.endedBefore) return;
    const isSame = stored.endedBefore === this.#floor.endedBefore;
    const issuedBefore = isSame
      ? Math.min(stored.issuedBefore, this.#floor.issuedBefore)
      : stored.issuedBefore;
    this.#floor = { endedBefore: stored.endedBefore, issuedBefore };
  }
}

async function read(db: Queries): Promise<Floor> {
  const row = await db
    .selectFrom('service_metadata')
    .select('value')
    .where('name', '=', NAME)
    .executeTakeFirst();
  const [ended = '0', issued = ''] = (row?.value ?? '').split(' ');
  return {
    endedBefore: Number(ended),
    issuedBefore: issued === '' ? Number.POSITIVE_INFINITY : Number(issued),
  };
}

async function write(tx: Queries, { endedBefore, issuedBefore }: Floor): Promise<void> {
  const value = Number.isFinite(issuedBefore) ? `${endedBefore} ${issuedBefore}` : String(endedBefore);
  await tx
    .insertInto('service_metadata')
    .values({ name: NAME, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}
