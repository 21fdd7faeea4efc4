import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Diagnostic, ok, problem, warning } from '../../../core/diagnostics.ts';

/** Nothing of this program is older, and no machine that runs it will see the end. */
const earliestMs = Date.UTC(2026, 0);
const latestMs = Date.UTC(2100, 0);
/** What two clocks that are both right may differ by. */
const toleranceMs = 5_000;
const files = ['parley.db', 'parley.db-wal'];

const advice =
  'Set the clock, on most systems by `timedatectl set-ntp true`: plans, months and keys go by it.';

/** @param newestRecordMs when the newest of what the database holds happened */
export function diagnoseClock(
  dataDir: string,
  newestRecordMs: number | undefined,
  nowMs = Date.now(),
): Diagnostic[] {
  const shows = `The clock shows ${timeText(nowMs)}`;
  if (nowMs < earliestMs || nowMs > latestMs) return [problem('clock', `${shows}.`, advice)];
  if (newestRecordMs !== undefined && newestRecordMs > nowMs + toleranceMs) {
    return [problem('clock', `${shows}, but the newest record is of ${timeText(newestRecordMs)}.`, advice)];
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

/** The time that the file system noted; 0 where there is no such file. */
function changedAtMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
