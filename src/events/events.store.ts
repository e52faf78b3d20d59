import type { Queries } from '../db/database.ts';

export async function hasEvent(db: Queries, id: string): Promise<boolean> {
  const row = await db.selectFrom('events').select('id').where('id', '=', id).executeTakeFirst();
  return row !== undefined;
}
