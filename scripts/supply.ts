import { askNpm } from './npm.ts';
import { findProblems, lockedForProduction } from './supply-chain.ts';

/** `npm run supply`: the packages of the service, and what is known against them and those of the tests. */
const EXIT_PROBLEMS = 1;
/** Nothing is known to be wrong, but the registry could not be asked. */
const EXIT_NOT_ASKED = 3;

/** Of what `npm audit --json` prints, or of the error that it prints instead. */
interface Audit {
  metadata?: { vulnerabilities: Record<string, number> };
  message?: string;
  error?: { summary?: string };
}

process.exitCode = worst([checkPackages(), checkAdvisories(['--omit=dev']), checkAdvisories([])]);

function worst(codes: readonly number[]): number {
  return codes.includes(EXIT_PROBLEMS) ? EXIT_PROBLEMS : Math.max(...codes);
}

function checkPackages(): number {
  const packages = lockedForProduction();
  const problems = findProblems(packages);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) return EXIT_PROBLEMS;
  console.log(
    `${Object.keys(packages).length} packages for production: permissive licences, no install script.`,
  );
  return 0;
}

function checkAdvisories(options: readonly string[]): number {
  const command = ['audit', ...options].join(' ');
  const { metadata, message, error } = read(askNpm(['audit', '--json', ...options]));
  if (metadata === undefined) {
    console.error(
      `npm ${command}: the registry does not answer it (${message ?? error?.summary ?? 'no JSON'}).`,
    );
    return EXIT_NOT_ASKED;
  }
  const { total = 0, ...bySeverity } = metadata.vulnerabilities;
  const counts = Object.entries(bySeverity).filter(([, count]) => count > 0);
  const known = counts.map(([severity, count]) => `${count} ${severity}`).join(', ');
  console.log(`npm ${command}: ${total === 0 ? 'nothing is known' : known}.`);
  return total === 0 ? 0 : EXIT_PROBLEMS;
}

function read(printed: string): Audit {
  try {
    return JSON.parse(printed) as Audit;
  } catch {
    return {};
  }
}
