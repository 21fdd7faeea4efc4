import { destination, pino } from 'pino';
import type { Log } from '../core/values/log.ts';

/** Anything but an Error is a BriefError, which is written unchanged. */
const serializers = {
  err: (err: unknown): unknown => (err instanceof Error ? pino.stdSerializers.err(err) : err),
};

/** JSON lines on standard error, as standard output is for data. */
export function createLog(level: string): Log & { level: string } {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers },
    destination({ fd: 2, sync: true }),
  );
}
