import { levels, pino } from 'pino';
import type { Log } from '../core/values/log.ts';
import { LogOutput } from './log-output.ts';

/** Anything but an Error is a BriefError, which is written unchanged. */
const serializers = {
  err: (err: unknown): unknown => (err instanceof Error ? pino.stdSerializers.err(err) : err),
};

/** On standard error, as standard output is for data: JSON lines, or text at a terminal. */
export function createLog(level: string): Log & { level: string } {
  const output = new LogOutput((lines) =>
    log.warn({ lines }, 'lines of the log were lost, as it could not be written'),
  );
  const log = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers },
    process.stderr.isTTY ? terminal : output,
  );
  return log;
}

const terminal = { write: (line: string) => void process.stderr.write(terminalLine(JSON.parse(line))) };

/** A record as a line for people, such as `14:03:05 warning: model is not available (model hears, reason ...)`. */
export function terminalLine(record: Readonly<Record<string, unknown>>): string {
  const { level, time, msg, err, ...facts } = record;
  const name = levels.labels[Number(level)] ?? '';
  const prefix = /warn|error|fatal/.test(name) ? `${name.replace('warn', 'warning')}: ` : '';
  const shown = Object.entries({ ...facts, ...(err !== undefined && { err: messageOf(err) }) })
    .map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)] as const)
    .filter(([, value]) => value !== undefined && !String(msg).includes(value))
    .map(([key, value]) => `${key} ${value}`);
  const text = `${new Date(String(time)).toTimeString().slice(0, 8)} ${prefix}${msg}${shown.length > 0 ? ` (${shown.join(', ')})` : ''}`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: foreign text must not change the terminal
  return `${text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')}\n`;
}

function messageOf(err: unknown): unknown {
  return typeof err === 'object' && err !== null && 'message' in err ? err.message : err;
}
