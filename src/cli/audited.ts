import { userInfo } from 'node:os';
import { type Actor, commandLineActor } from '../audit/actor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { openAudit } from '../open-keys.ts';
import { withDatabase } from './database.ts';

interface Audited {
  database: Database;
  audit: AuditLog;
  by: Actor;
}

/** For commands that change something: the database, and the log that is told of the change. */
export async function withAudit<T>(
  config: Config,
  clock: Clock,
  use: (audited: Audited) => Promise<T>,
): Promise<T> {
  return withDatabase(config, async (database) => {
    const { audit } = await openAudit(config, { database, clock });
    return use({ database, audit, by: whoRunsThis() });
  });
}

/** A container may run as a user that has no name. */
export function whoRunsThis(): Actor {
  try {
    return commandLineActor(userInfo().username);
  } catch {
    return commandLineActor(`uid ${process.getuid?.() ?? 'unknown'}`);
  }
}
