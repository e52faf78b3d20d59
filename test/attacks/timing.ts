const CALLS = 400;
const SAMPLES = 400;
/** Of the time of a call. The control differs by its larger part. */
const NOTABLE = 0.2;
const TRIES = 5;

/**
 * Whether a comparison takes another time for a guess that is wrong at its end than for one that is wrong at its
 * beginning. Samples of both alternate, so that what disturbs the machine disturbs both; of each kind the lower quartile
 * counts, which disturbances hardly reach; and only what shows each time is taken as real.
 */
export function leaksTime<Guess>(
  compare: (guess: Guess) => boolean,
  guesses: { early: Guess; late: Guess },
): boolean {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    if (Math.abs(difference(compare, guesses)) < NOTABLE) return false;
  }
  return true;
}

/** Of the late one to the early one, as a part of the larger. */
function difference<Guess>(
  compare: (guess: Guess) => boolean,
  { early, late }: { early: Guess; late: Guess },
): number {
  const times = { early: [] as number[], late: [] as number[] };
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const isTurned = sample % 2 === 0;
    if (isTurned) times.early.push(measure(compare, early));
    times.late.push(measure(compare, late));
    if (!isTurned) times.early.push(measure(compare, early));
  }
  const [first, second] = [quartile(times.early), quartile(times.late)];
  return (second - first) / Math.max(first, second);
}

function measure<Guess>(compare: (guess: Guess) => boolean, guess: Guess): number {
  const start = process.hrtime.bigint();
  let right = 0;
  for (let call = 0; call < CALLS; call += 1) if (compare(guess)) right += 1;
  const took = Number(process.hrtime.bigint() - start);
  if (right > 0) throw new Error('A guess that must be wrong is right.');
  return took;
}

const quartile = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 4)] ?? Number.NaN;
