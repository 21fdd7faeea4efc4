/** Times and time spans in the form that people read and write. */
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { type Command, InvalidArgumentError } from 'commander';

export const dayMs = 86_400_000;

const secondsPerUnit = new Map([
  ['s', 1],
  ['m', 60],
  ['h', 3_600],
  ['d', 86_400],
  ['w', 604_800],
]);

/** The seconds of a span such as `90d`, `24h` or `30m`. @throws InvalidArgumentError */
export function parseSpan(text: string): number {
  const [, count, unit = ''] = /^(\d{1,9})([a-z])$/.exec(text) ?? [];
  const seconds = secondsPerUnit.get(unit);
  if (count !== undefined && seconds !== undefined) return Number(count) * seconds;
  throw new InvalidArgumentError('Write a number and s, m, h, d or w, such as 24h.');
}

/** A date such as `2027-01-31` (0:00 UTC), a time, or a span from now. @throws InvalidArgumentError */
export function parseExpiry(text: string): Date {
  if (/^\d+[a-z]$/.test(text)) return checked(new Date(Date.now() + parseSpan(text) * 1000));
  if (!/^\d{4}-\d{2}-\d{2}(T\S+(Z|[+-]\d{2}:\d{2}))?$/.test(text)) return checked(new Date(Number.NaN));
  return checked(new Date(text));
}

/** google.protobuf.Timestamp ends with the year 9999. */
const latestMs = Date.UTC(9999, 11, 31);

function checked(date: Date): Date {
  if (date.getTime() <= latestMs) return date;
  throw new InvalidArgumentError(
    'Write a date such as 2027-01-31, a time such as 2027-01-31T18:00:00Z, or a span such as 90d.',
  );
}

/** A date (0:00 UTC), a time, or a span before now. @throws InvalidArgumentError */
export function parseMoment(text: string): Date {
  if (/^\d+[a-z]$/.test(text)) return checked(new Date(Date.now() - parseSpan(text) * 1000));
  return parseExpiry(text);
}

/** The options `--since` and `--until`. */
export function withPeriod(command: Command): Command {
  const since = 'only from this time on: a date (0:00 UTC), a time, or a span before now such as 24h';
  return command
    .option('--since <when>', since, parseMoment)
    .option('--until <when>', 'only before this time', parseMoment);
}

export interface PeriodFlags {
  readonly since?: Date;
  readonly until?: Date;
}

/** The period in a request. */
export function periodOf({ since, until }: PeriodFlags) {
  return {
    ...(since && { startTime: timestampOf(since.getTime()) }),
    ...(until && { endTime: timestampOf(until.getTime()) }),
  };
}

/** google.protobuf.Timestamp of a time. */
export function timestampOf(ms: number): { seconds: bigint; nanos: number } {
  const seconds = Math.floor(ms / 1000);
  return { seconds: BigInt(seconds), nanos: (ms - seconds * 1000) * 1e6 };
}

export function msOf({ seconds, nanos }: Timestamp): number {
  return Number(seconds) * 1000 + Math.floor(nanos / 1e6);
}

/** Text such as `2026-11-21 11:30:07`, in UTC. */
export function timeText(time: Timestamp | undefined): string | undefined {
  return time && new Date(msOf(time)).toISOString().slice(0, 19).replace('T', ' ');
}

/** Text such as `2026-11-21`, in UTC. */
export function dateText(time: Timestamp | undefined): string | undefined {
  return timeText(time)?.slice(0, 10);
}

/** Text such as `0.42 s`, `12.3 s` or `3 min 5 s`. */
export function spanText(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 9.995) return `${seconds.toFixed(2)} s`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
