import { type Condition, problem } from '../../core/condition.ts';

/** One area that is looked at, such as the data folder or one engine. */
export interface Check {
  readonly area: string;
  run(signal: AbortSignal): Promise<readonly Condition[]>;
}

export interface Examined {
  readonly area: string;
  readonly conditions: readonly Condition[];
}

/** Runs them at the same time, each for so long at most, and returns what they found in their order. Never rejects. */
export function runChecks(checks: readonly Check[], timeMsMax: number): Promise<Examined[]> {
  return Promise.all(
    checks.map(async (check) => ({ area: check.area, conditions: await withinTime(check, timeMsMax) })),
  );
}

async function withinTime({ run }: Check, timeMsMax: number): Promise<readonly Condition[]> {
  const late = Promise.withResolvers<readonly Condition[]>();
  const stop = new AbortController();
  const timer = setTimeout(() => {
    late.resolve([
      problem('time', `This took longer than ${timeMsMax / 1000} s.`, 'Try again when there is less to do.'),
    ]);
    stop.abort();
  }, timeMsMax);
  try {
    return await Promise.race([late.promise, run(stop.signal)]);
  } catch (error) {
    return [problem('check', `It failed itself (${String(error)}).`, 'Report this with the whole output.')];
  } finally {
    clearTimeout(timer);
  }
}
