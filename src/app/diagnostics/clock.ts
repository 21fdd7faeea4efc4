import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Diagnostic, ok, problem, warning } from '../../core/values/diagnostics.ts';

/** A clock outside of these years is certainly wrong. */
const earliestMs = Date.UTC(2026, 0);
const latestMs = Date.UTC(2100, 0);
/** Two correct clocks may differ by this much. */
const toleranceMs = 5_000;
const files = ['parley.db', 'parley.db-wal'];

const advice =
  'Set the clock, on most systems with `timedatectl set-ntp true`: plans, months and keys depend on it.';

/** @param newestRecordMs the time of the newest record in the database */
export function diagnoseClock(
  dataDir: string,
  newestRecordMs: number | undefined,
  nowMs = Date.now(),
): Diagnostic[] {
  const shows = `The clock shows ${timeText(nowMs)}`;
  if (nowMs < earliestMs || nowMs > latestMs) return [problem('clock', `${shows}.`, advice)];
  if (newestRecordMs !== undefined && newestRecordMs > nowMs + toleranceMs) {
    return [problem('clock', `${shows}, but the newest record is from ${timeText(newestRecordMs)}.`, advice)];
  }
  const changedMs = Math.max(...files.map((name) => changedAtMs(join(dataDir, name))));
  if (changedMs > nowMs + toleranceMs) {
    return [warning('clock', `${shows}, but the database was written at ${timeText(changedMs)}.`, advice)];
  }
  return [ok('clock', `${shows}.`)];
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** When the file was last written; 0 if it does not exist. */
function changedAtMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
