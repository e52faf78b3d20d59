import type { Queries } from '../db/database.ts';

const NAME = 'expiry_floor';

/**
 * The time before which every access token has ended for good. Revocations are forgotten once their tokens have expired;
 * should the clock have been ahead then, and be set right, those tokens would be young again and nobody would know that
 * they were revoked. So nothing is forgotten that is not below this floor, and no clock brings back what is.
 */
export class ExpiryFloor {
  #milliseconds = 0;

  get milliseconds(): number {
    return this.#milliseconds;
  }

  /** What any process has raised it to. */
  async reload(db: Queries): Promise<void> {
    this.#milliseconds = Math.max(this.#milliseconds, await read(db));
  }
}

/** Every process has to have seen it before anything below it is forgotten. */
export async function raiseExpiryFloor(tx: Queries, to: number): Promise<void> {
  if ((await read(tx)) >= to) return;
  const value = String(to);
  await tx
    .insertInto('service_metadata')
    .values({ name: NAME, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}

async function read(db: Queries): Promise<number> {
  const row = await db
    .selectFrom('service_metadata')
    .select('value')
    .where('name', '=', NAME)
    .executeTakeFirst();
  return Number(row?.value ?? 0);
}
