/** The options that set the limits of a key or an account. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { LimitCount, Limits, LimitsSchema } from '../../../gen/parley/account/v1/limits_pb.ts';
import { present } from '../../core/values/present.ts';
import { parseCount } from '../flags.ts';
import { usageError } from '../terminal/command.ts';
import { timeText } from '../terminal/times.ts';

export interface LimitFlags {
  readonly models?: string[];
  readonly addresses?: string[];
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly concurrentRequests?: number;
  readonly audioSecondsPerDay?: number;
  readonly charactersPerDay?: number;
  readonly budgetPerDay?: string;
  readonly budgetPerMonth?: string;
  readonly budgetInAll?: string;
  readonly endUserBudgetPerDay?: string;
  readonly endUserBudgetPerMonth?: string;
}

type WantedLimits = MessageInitShape<typeof LimitsSchema>;

export function withLimitOptions(command: Command): Command {
  return command
    .option('--models <list>', 'models that it may call, such as gpt-4o,claude-*', parseList)
    .option('--addresses <list>', 'addresses and networks that may call, such as 10.0.0.0/8', parseList)
    .option('--requests-per-minute <number>', 'requests for speech, transcription and chat', parseCount)
    .option('--tokens-per-minute <number>', 'tokens of chats, prompt and answer', parseCount)
    .option('--concurrent-requests <number>', 'concurrent requests', parseCount)
    .option('--audio-seconds-per-day <number>', 'seconds of audio to transcribe', parseCount)
    .option('--characters-per-day <number>', 'characters to speak', parseCount)
    .option('--budget-per-day <credits>', 'credits per day (UTC)')
    .option('--budget-per-month <credits>', 'credits per month (UTC)')
    .option('--budget-in-all <credits>', 'credits in total')
    .option('--end-user-budget-per-day <credits>', 'credits of each end user per day (UTC)')
    .option('--end-user-budget-per-month <credits>', 'credits of each end user per month (UTC)');
}

/** Adds the option that removes all limits. */
export function withNoLimits(command: Command): Command {
  return command.addOption(new Option('--none', 'no limits'));
}

/** Undefined if no limit is given. */
export function wantedLimits(flags: LimitFlags): WantedLimits | undefined {
  const { budgetPerDay: day, budgetPerMonth: month, budgetInAll: total, ...counts } = flags;
  const { models, addresses, requestsPerMinute, tokensPerMinute, concurrentRequests } = counts;
  const { audioSecondsPerDay, charactersPerDay } = counts;
  const budgets = present({ day, month, total });
  const perEndUser = present({ day: flags.endUserBudgetPerDay, month: flags.endUserBudgetPerMonth });
  const limits: WantedLimits = present({
    models,
    addresses,
    requestsPerMinute,
    tokensPerMinute,
    concurrentRequests,
    audioSecondsPerDay,
    charactersPerDay,
    budgets: Object.keys(budgets).length > 0 ? budgets : undefined,
    perEndUser: Object.keys(perEndUser).length > 0 ? perEndUser : undefined,
  });
  return Object.keys(limits).length > 0 ? limits : undefined;
}

/**
 * The new limits, which replace all earlier ones. Without options the command fails, so that it does not remove them by
 * mistake.
 */
export function replacingLimits(
  flags: LimitFlags & { readonly none?: boolean },
  command: Command,
): { limits?: WantedLimits } {
  const limits = wantedLimits(flags);
  if (limits === undefined && !flags.none) usageError(command, 'give the limits, or --none');
  return limits ? { limits } : {};
}

/** Lines of facts: each limit, and its used amount. */
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

function parseList(text: string): string[] {
  const entries = text.split(',').map((entry) => entry.trim());
  if (entries.every((entry) => entry !== '')) return entries;
  throw new InvalidArgumentError('Write entries with commas between them.');
}
