import { destination, pino } from 'pino';
import type { Log } from './core/ports/log.ts';

/** JSON lines on standard error: standard output is for data. */
/** @param base what every line has besides. Default: nothing */
export function createLog(level: string, base: object | null = null): Log & { level: string } {
  return pino(
    { level, base: base && { ...base }, timestamp: pino.stdTimeFunctions.isoTime },
    destination({ fd: 2, sync: true }),
  );
}
