import { parseArgs } from 'node:util';
import { tokenPeers } from './peers/peer.ts';

export interface BenchOptions {
  samples: number;
  /** How long one sample takes. */
  milliseconds: number;
  connections: number;
  only: readonly SectionName[];
  peers: readonly string[];
  /** `sqlite` or URLs. */
  databases: readonly string[];
  /** How many tokens are issued before the memory is read the last time. */
  memoryTokens: number;
  /** How long a fresh service is left alone before its memory is read. */
  settleMilliseconds: number;
  folder: string;
  isProfile: boolean;
}

export const sectionNames = [
  'tokens',
  'introspections',
  'saturation',
  'costs',
  'latency',
  'start',
  'memory',
] as const;

export type SectionName = (typeof sectionNames)[number];

const usage = `node bench/run.ts [options]

  --samples 10          how often each figure is taken
  --seconds 1.5         how long a sample takes
  --connections 16
  --only NAMES          of ${sectionNames.join(',')}
  --peers NAMES         of ${Object.keys(tokenPeers).join(',')}; "none" for none
  --databases sqlite    also the URLs of empty PostgreSQL databases, between commas
  --memory-tokens 20000 how many tokens are issued before memory is read the last time
  --settle 5            seconds that a fresh service is left alone before its memory is read
  --folder PATH         where the results are written; default bench/results
  --profile             a CPU profile of the token and the introspection path instead`;

export function readOptions(): BenchOptions {
  const { values } = parseArgs({
    options: {
      samples: { type: 'string', default: '10' },
      seconds: { type: 'string', default: '1.5' },
      connections: { type: 'string', default: '16' },
      only: { type: 'string', default: sectionNames.join(',') },
      peers: { type: 'string', default: Object.keys(tokenPeers).join(',') },
      databases: { type: 'string', default: 'sqlite' },
      'memory-tokens': { type: 'string', default: '20000' },
      settle: { type: 'string', default: '5' },
      folder: { type: 'string', default: new URL('./results', import.meta.url).pathname },
      profile: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    process.exit(0);
  }
  return {
    samples: Number(values.samples),
    milliseconds: Number(values.seconds) * 1000,
    connections: Number(values.connections),
    only: values.only.split(',').map(sectionName),
    peers: values.peers === 'none' ? [] : values.peers.split(','),
    databases: values.databases.split(','),
    memoryTokens: Number(values['memory-tokens']),
    settleMilliseconds: Number(values.settle) * 1000,
    folder: values.folder,
    isProfile: values.profile,
  };
}

function sectionName(text: string): SectionName {
  const name = sectionNames.find((known) => known === text);
  if (name === undefined) throw new Error(`${text} is not one of ${sectionNames.join(', ')}.`);
  return name;
}
