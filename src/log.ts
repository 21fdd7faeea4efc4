import { destination, pino } from 'pino';
import type { Log } from './core/ports/log.ts';

/** What is no Error is a BriefError, and is written as it is. */
const serializers = {
  err: (err: unknown): unknown => (err instanceof Error ? pino.stdSerializers.err(err) : err),
};

/** JSON lines on standard error: standard output is for data. */
/** @param base what every line has besides. Default: nothing */
export function createLog(level: string, base: object | null = null): Log & { level: string } {
  return pino(
    { level, base: base && { ...base }, timestamp: pino.stdTimeFunctions.isoTime, serializers },
    destination({ fd: 2, sync: true }),
  );
}
