import { sql } from 'kysely';
import type { Queries } from '../db/database.ts';

/**
 * Takes the turn to do what one process is to do for all, until `until`. False where another has it; whoever holds it
 * and dies keeps it no longer than that.
 */
export async function takeTurn(
  tx: Queries,
  turn: { name: string; now: number; until: number },
): Promise<boolean> {
  const taken = await tx
    .insertInto('service_metadata')
    .values({ name: `turn_${turn.name}`, value: String(turn.until) })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet({ value: String(turn.until) })
        // Beyond its own end no turn lasts: a clock that was ahead has written what is.
        .where(
          sql<boolean>`cast(service_metadata.value as bigint) not between ${turn.now + 1} and ${turn.until}`,
        ),
    )
    .returning('name')
    .execute();
  return taken.length === 1;
}
