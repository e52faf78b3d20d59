import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** An entry of package-lock.json, by the folder that it is installed in. */
export interface LockedPackage {
  version?: string;
  license?: string;
  dev?: boolean;
  hasInstallScript?: boolean;
}

/** Permissive, and without a duty for those who only run the service. */
const ALLOWED_LICENCES = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
];

const RUN_AT_INSTALLATION = ['preinstall', 'install', 'postinstall'];

/** What `npm ci --omit=dev` installs, on any platform. */
export function lockedForProduction(lockfile = 'package-lock.json'): Record<string, LockedPackage> {
  const { packages } = JSON.parse(readFileSync(lockfile, 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  return Object.fromEntries(Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev));
}

export const nameOf = (path: string): string => path.replace(/^.*node_modules\//, '');

/** A sentence for each package whose licence is not on the list, or that would run code as it is installed. */
export function findProblems(packages: Record<string, LockedPackage>, root = '.'): string[] {
  return Object.entries(packages).flatMap(([path, locked]) => [
    ...licenceProblems(path, [locked.license, installedLicence(join(root, path))]),
    ...scriptProblems(path, locked, join(root, path)),
  ]);
}

/** The lockfile repeats what the registry says, the package what its authors say; packages of other platforms are absent. */
function licenceProblems(path: string, [locked, installed]: [unknown, unknown]): string[] {
  const told = installed === undefined ? [locked] : [locked, installed];
  return told
    .filter((licence) => !ALLOWED_LICENCES.includes(String(licence)))
    .map((licence) => `${path} has the licence ${JSON.stringify(licence)}, which is not on the list.`);
}

function scriptProblems(path: string, { hasInstallScript }: LockedPackage, folder: string): string[] {
  const scripts = Object.keys(manifestIn(folder)?.scripts ?? {});
  const runs = scripts.some((name) => RUN_AT_INSTALLATION.includes(name));
  // npm compiles what has such a file, asked or not.
  const compiles = existsSync(join(folder, 'binding.gyp'));
  return hasInstallScript === true || runs || compiles ? [`${path} runs code when it is installed.`] : [];
}

function installedLicence(folder: string): unknown {
  const manifest = manifestIn(folder);
  return manifest === null ? undefined : (manifest.license ?? null);
}

function manifestIn(folder: string): { license?: unknown; scripts?: object } | null {
  const path = join(folder, 'package.json');
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null;
}
