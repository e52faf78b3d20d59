import { toKeyView } from '../keys/jwks.routes.ts';
import { listKeys } from '../keys/keys.store.ts';
import type { SigningKey } from '../keys/signing-key.ts';
import { openKeys } from '../open-keys.ts';
import { whoRunsThis } from './audited.ts';
import type { CommandDeps, Outcome } from './command.ts';
import { withDatabase } from './database.ts';
import { textTable } from './text-table.ts';

/** The signing keys, newest first; of each what anybody may see. */
export async function listSigningKeys({ loadConfig }: Pick<CommandDeps, 'loadConfig'>): Promise<Outcome> {
  const keys = await withDatabase(loadConfig(), ({ reader }) => listKeys(reader));
  return {
    text: keys.length === 0 ? 'There are no keys yet: the first start makes them.\n' : keyTable(keys),
    json: toJson(keys),
  };
}

/** Does what `POST /api/keys/rotate` does, in this process. A service that runs reads the keys anew each minute. */
export async function rotateSigningKey({
  loadConfig,
  clock,
}: Pick<CommandDeps, 'loadConfig' | 'clock'>): Promise<Outcome> {
  const config = loadConfig();
  const keys = await withDatabase(config, async (database) => {
    const { keyRing } = await openKeys(config, { database, clock });
    await keyRing.rotate(whoRunsThis());
    return keyRing.keys;
  });
  return {
    text: `${keyTable(keys)}
A service that runs takes this over within a minute. What it signs until then stays valid.
`,
    json: toJson(keys),
  };
}

const toJson = (keys: readonly SigningKey[]): object => ({ keys: keys.map(toKeyView) });

function keyTable(keys: readonly SigningKey[]): string {
  const rows = keys
    .map(toKeyView)
    .map((key) => [
      key.kid,
      key.status,
      key.created_at,
      key.activated_at ?? '-',
      key.retired_at ?? '-',
      key.remove_at ?? '-',
    ]);
  return textTable(['KID', 'STATUS', 'CREATED', 'ACTIVATED', 'RETIRED', 'REMOVE AT'], rows);
}
