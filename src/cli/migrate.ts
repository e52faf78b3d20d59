import type { CommandDeps, Outcome } from './command.ts';
import { applyMigrations, findPending } from './database.ts';
import { CommandFailure } from './failure.ts';

const UP_TO_DATE = 'The tables are up to date.\n';

/** Brings the tables up to this version. Where nothing is missing, it does not mind a service that runs. */
export async function bringUpToDate({ loadConfig }: Pick<CommandDeps, 'loadConfig'>): Promise<Outcome> {
  const config = loadConfig();
  const pending = await findPending(config);
  const applied = pending.length === 0 ? [] : await applyMigrations(config);
  return { text: applied.length === 0 ? UP_TO_DATE : `Applied ${applied.join(', ')}.\n`, json: { applied } };
}

/** Fails where something is missing, and changes nothing. */
export async function checkUpToDate({ loadConfig }: Pick<CommandDeps, 'loadConfig'>): Promise<Outcome> {
  const pending = await findPending(loadConfig());
  if (pending.length === 0) return { text: UP_TO_DATE, json: { pending } };
  throw new CommandFailure('migrations_pending', `Not applied yet: ${pending.join(', ')}.`, { pending });
}
