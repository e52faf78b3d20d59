import { parseArgs } from 'node:util';
import { globalSetup, globalTeardown } from '../setup.ts';

/**
 * `npm run chaos -- --minutes 5 --seed 1 --database sqlite`: load, `kill -9` at random moments, and a checker that knows
 * every answer. On both databases, half of the time each, unless one is named.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '5' },
      seed: { type: 'string' },
      database: { type: 'string', default: 'sqlite,postgres' },
    },
  });
  process.env['SIGNET_TEST_DATABASES'] = values.database;
  await globalSetup();
  try {
    await runEach(Number(values.minutes) * 60, Number(values.seed ?? Math.floor(Math.random() * 2 ** 31)));
  } finally {
    await globalTeardown();
  }
}

async function runEach(seconds: number, seed: number): Promise<void> {
  const { databaseKinds, useDatabase } = await import('../databases.ts');
  const { chaos } = await import('./chaos.ts');
  const { createRandom } = await import('./random.ts');
  for (const kind of databaseKinds) {
    console.log(`${kind}: seed ${seed}`);
    useDatabase(kind);
    const report = await chaos({
      seconds: seconds / databaseKinds.length,
      leastAcknowledged: 1000,
      random: createRandom(seed),
      longestLifeSeconds: 6,
      waitsForEvents: true,
    });
    console.log(JSON.stringify(report, null, 2));
  }
}

await main();
