import type { RecordEnd } from '../../core/ports/usage.ts';
import type { SetAside } from './columns.ts';

/** The end of a request whose process did not live to end it: nothing is charged. */
export function interrupted({ startedAtMs, month }: SetAside, nowMs: number): RecordEnd {
  return {
    state: 'interrupted',
    httpStatus: 500,
    code: 'internal_error',
    durationMs: Math.max(0, nowMs - startedAtMs),
    firstOutputMs: undefined,
    audioMsIn: undefined,
    audioMsOut: undefined,
    tokens: undefined,
    fairUseUnits: month && 0,
    cost: undefined,
    overrun: undefined,
  };
}
