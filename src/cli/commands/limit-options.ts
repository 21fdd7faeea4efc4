import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Command, Option } from 'commander';
import type { LimitCount, Limits, LimitsSchema } from '../../../gen/parley/account/v1/limits_pb.ts';
import { parseCount, parseList } from '../flags.ts';
import { usageError } from '../terminal/command.ts';
import { timeText } from '../terminal/times.ts';

/** The limits by their option: the path in a request, what the option means, and how its text is read. */
const options = {
  'models <list>': ['models', 'models that it may call, such as gpt-4o,claude-*', parseList],
  'addresses <list>': ['addresses', 'addresses and networks that may call, such as 10.0.0.0/8', parseList],
  'requests-per-minute <number>': [
    'requestsPerMinute',
    'requests for speech, transcription and chat',
    parseCount,
  ],
  'tokens-per-minute <number>': ['tokensPerMinute', 'tokens of chats, prompt and answer', parseCount],
  'concurrent-requests <number>': ['concurrentRequests', 'concurrent requests', parseCount],
  'audio-seconds-per-day <number>': ['audioSecondsPerDay', 'seconds of audio to transcribe', parseCount],
  'characters-per-day <number>': ['charactersPerDay', 'characters to speak', parseCount],
  'budget-per-day <credits>': ['budgets.day', 'credits per day (UTC)', String],
  'budget-per-month <credits>': ['budgets.month', 'credits per month (UTC)', String],
  'budget-in-all <credits>': ['budgets.total', 'credits in total', String],
  'end-user-budget-per-day <credits>': ['perEndUser.day', 'credits of each end user per day (UTC)', String],
  'end-user-budget-per-month <credits>': [
    'perEndUser.month',
    'credits of each end user per month (UTC)',
    String,
  ],
} as const;

type WantedLimits = MessageInitShape<typeof LimitsSchema>;

export function withLimitOptions(command: Command): Command {
  for (const [flags, [, description, parse]] of Object.entries(options))
    command.option(`--${flags}`, description, (text) => parse(text));
  return command;
}

export interface NoLimitsFlag {
  readonly none?: boolean;
}

export function withNoLimits(command: Command): Command {
  return command.addOption(new Option('--none', 'no limits'));
}

/** Undefined if no limit is given. */
export function wantedLimits(flags: object): WantedLimits | undefined {
  const limits: Record<string, unknown> = {};
  for (const [option, [path]] of Object.entries(options)) {
    const value = Reflect.get(flags, new Option(`--${option}`).attributeName());
    const [name = '', inner] = path.split('.');
    if (value !== undefined)
      limits[name] = inner === undefined ? value : { ...(limits[name] as object), [inner]: value };
  }
  return Object.keys(limits).length > 0 ? limits : undefined;
}

/**
 * The new limits, which replace all earlier ones. Without options the command fails, so that it does not remove them by
 * mistake.
 */
export function replacingLimits(flags: NoLimitsFlag, command: Command): { limits?: WantedLimits } {
  const limits = wantedLimits(flags);
  if (limits === undefined && !flags.none) usageError(command, 'give the limits, or --none');
  return limits ? { limits } : {};
}

export function limitFacts(
  limits: Limits | undefined,
  counts: readonly LimitCount[],
): [string, string | undefined][] {
  if (limits === undefined) return [['limits', 'none']];
  const { models, addresses, perEndUser } = limits;
  return [
    ['models', models.join(', ') || undefined],
    ['addresses', addresses.join(', ') || undefined],
    ['requests per minute', limits.requestsPerMinute?.toString()],
    ['tokens per minute', limits.tokensPerMinute?.toString()],
    ['concurrent requests', limits.concurrentRequests?.toString()],
    ['credits of each end user per day', perEndUser?.day],
    ['credits of each end user per month', perEndUser?.month],
    ...counts.map(({ name, used, limit, resetsAt }): [string, string] => {
      const reset = timeText(resetsAt);
      return [countNames[name] ?? name, `${used} of ${limit}${reset ? `, from 0 again at ${reset}` : ''}`];
    }),
  ];
}

const countNames: Readonly<Record<string, string>> = {
  'budgets.day': 'credits per day',
  'budgets.month': 'credits per month',
  'budgets.total': 'credits in total',
  audio_seconds_per_day: 'seconds per day',
  characters_per_day: 'characters per day',
};
