import { readFileSync } from 'node:fs';
import { askNpm } from './npm.ts';
import { lockedForProduction, nameOf } from './supply-chain.ts';

/** `npm run sbom`: a CycloneDX document of what `npm ci --omit=dev` installs, on any platform. */

interface Bom {
  metadata: { component: { name: string; 'bom-ref': string } };
  components: { 'bom-ref': string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

const bom = JSON.parse(
  askNpm(['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application']),
) as Bom;
console.log(JSON.stringify(forProduction(bom), null, 2));

/** By the lockfile: npm's own `--omit=dev` leaves out what the tests need as well, `pg` for one. */
function forProduction({ metadata, components, dependencies, ...rest }: Bom): Bom {
  const { component } = metadata;
  const production = Object.entries(lockedForProduction()).map(
    ([path, { version }]) => `${nameOf(path)}@${version}`,
  );
  const kept = new Set([component['bom-ref'], ...production]);
  return {
    ...rest,
    // npm takes the name of the folder.
    metadata: { ...metadata, component: { ...component, name: ownName() } },
    components: components.filter((each) => kept.has(each['bom-ref'])),
    dependencies: dependencies
      .filter(({ ref }) => kept.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => kept.has(each)) })),
  };
}

function ownName(): string {
  return (JSON.parse(readFileSync('package.json', 'utf8')) as { name: string }).name;
}
