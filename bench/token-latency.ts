import { type Bench, endlessTokens } from './bench.ts';
import { from, type Measure, sampled } from './measure.ts';

const SHARE_OF_PEAK = 0.7;

/** How long a token takes at 70 % of the peak, on a schedule, counted from the time in the schedule. */
export async function measureLatency(bench: Bench): Promise<Measure[]> {
  const samples = await sampled(bench.options.samples, () => takeSample(bench));
  const measure = from(samples);
  const { name } = bench.signet;
  return [
    measure(`${name}: tokens/s asked for`, '', ({ perSecond }) => perSecond),
    measure(`${name}: token at 70 % of the peak, p50`, 'ms', ({ p50 }) => p50),
    measure(`${name}: token at 70 % of the peak, p99`, 'ms', ({ p99 }) => p99),
    measure('of it the load behind its schedule, p99', 'ms', ({ lateP99 }) => lateP99),
    measure('time of one JWT of C', 'ms', ({ one }) => one),
    measure(`${name}: p99 over the time of one JWT of C`, '×', ({ p99, one }) => p99 / one, { atMost: 6 }),
  ];
}

/** The peak is measured right before, since a shared machine has another one a minute later. */
async function takeSample({ signet, options, load, bracketed }: Bench) {
  const { milliseconds } = options;
  const peak = await load(signet, { ...endlessTokens(signet), milliseconds });
  const perSecond = peak.perSecond * SHARE_OF_PEAK;
  const { outcome, calibration } = await bracketed(() =>
    load(signet, { ...endlessTokens(signet), milliseconds: 2 * milliseconds, perSecond }),
  );
  const { p50, p99, lateP99 } = outcome;
  return { perSecond, p50, p99, lateP99, one: calibration.millisecondsEach };
}
