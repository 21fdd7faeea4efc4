import { destination, pino } from 'pino';
import type { Log } from './core/ports/log.ts';

/** JSON lines on standard error: standard output is for data. */
export function createLog(level: string): Log & { level: string } {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    destination({ fd: 2, sync: true }),
  );
}
