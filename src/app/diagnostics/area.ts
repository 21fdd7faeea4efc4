/** The areas of `parley doctor` and of the check of a running server. */
import { type Diagnostic, problem } from '../../core/values/diagnostics.ts';

const checkMsMax = 10_000;

/** An area, such as the data folder or an engine. */
export interface DiagnosedArea {
  readonly area: string;
  readonly diagnostics: readonly Diagnostic[];
}

export type Check = (signal: AbortSignal) => Promise<readonly Diagnostic[]>;

/** A check that fails or takes too long becomes a problem like any other. */
export async function diagnoseArea(
  area: string,
  check: Check,
  timeMsMax = checkMsMax,
): Promise<DiagnosedArea> {
  const signal = AbortSignal.timeout(timeMsMax);
  const late = new Promise<readonly Diagnostic[]>((resolve) => {
    const found = `This took longer than ${timeMsMax / 1000} s.`;
    const advice = 'Try again when the machine is less busy.';
    signal.addEventListener('abort', () => resolve([problem('time', found, advice)]));
  });
  try {
    return { area, diagnostics: await Promise.race([late, check(signal)]) };
  } catch (error) {
    const advice = 'Report this.';
    return { area, diagnostics: [problem('check', `The check itself failed (${String(error)}).`, advice)] };
  }
}
