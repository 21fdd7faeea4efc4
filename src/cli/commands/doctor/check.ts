import { type Diagnostic, problem } from '../../../core/diagnostics.ts';

/** One area that is looked at, such as the data folder or one engine. */
export interface Check {
  readonly area: string;
  run(signal: AbortSignal): Promise<readonly Diagnostic[]>;
}

export interface DiagnosedArea {
  readonly area: string;
  readonly diagnostics: readonly Diagnostic[];
}

/** Runs them at the same time, each for so long at most, and returns what they found in their order. Never rejects. */
export function runChecks(checks: readonly Check[], timeMsMax: number): Promise<DiagnosedArea[]> {
  return Promise.all(
    checks.map(async (check) => ({ area: check.area, diagnostics: await withinTime(check, timeMsMax) })),
  );
}

async function withinTime({ run }: Check, timeMsMax: number): Promise<readonly Diagnostic[]> {
  const late = Promise.withResolvers<readonly Diagnostic[]>();
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
