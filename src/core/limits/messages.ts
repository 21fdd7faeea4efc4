/** Limits in the form of requests and answers. */
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type LimitCount as LimitCountMessage,
  LimitCountSchema,
  type Limits as LimitsMessage,
  LimitsSchema,
} from '../../../gen/parley/account/v1/limits_pb.ts';
import { type CountedAmount, countedAmounts, periodEndMs } from '../entities/count.ts';
import { type Budgets, budgetNames, compactLimits, type Limits } from '../entities/limits.ts';
import { readNetwork } from '../values/addresses.ts';
import { bounds, hasLength, matches } from '../values/bounds.ts';
import type { ParleyError } from '../values/errors.ts';
import { formatCredits, type NanoCredits, nanoCredits, parseCredits } from '../values/money.ts';
import { invalid } from '../values/parameters.ts';

/** @throws `invalid_parameter` */
export function readLimits(message: LimitsMessage | undefined): Limits | undefined {
  if (message === undefined) return undefined;
  const { $typeName: _, $unknown: __, models, addresses, budgets, perEndUser, ...wholes } = message;
  for (const [name, value] of Object.entries(wholes)) {
    if (value !== undefined && value < bounds.rate.minimum)
      throw refused(snakeCase(name), 'must not be negative');
  }
  const { day, month, total } = budgets ?? {};
  const of = 'budgets';
  const ofEach = 'per_end_user';
  return compactLimits({
    ...wholes,
    models: readModels(models),
    addresses: readAddresses(addresses),
    budgets: {
      day: readBudget(of, 'day', day),
      month: readBudget(of, 'month', month),
      total: readBudget(of, 'total', total),
    },
    perEndUser: {
      day: readBudget(ofEach, 'day', perEndUser?.day),
      month: readBudget(ofEach, 'month', perEndUser?.month),
    },
  });
}

function readModels(patterns: readonly string[]): readonly string[] | undefined {
  checkEntries('models', patterns);
  const { modelPattern } = bounds;
  const fits = (text: string) => hasLength(text, modelPattern) && matches(text, modelPattern);
  if (patterns.every(fits)) return patterns.length === 0 ? undefined : patterns;
  throw refused('models', `takes ids of 1 to ${modelPattern.maxLength} characters with at most three \`*\``);
}

function readAddresses(networks: readonly string[]): readonly string[] | undefined {
  checkEntries('addresses', networks);
  if (networks.every((text) => readNetwork(text))) return networks.length === 0 ? undefined : networks;
  throw refused('addresses', 'takes addresses and networks such as `192.0.2.1` and `10.0.0.0/8`');
}

function checkEntries(name: string, entries: readonly string[]): void {
  const { maxItems } = bounds.limitEntries;
  if (entries.length > maxItems) throw refused(name, `takes at most ${maxItems} entries`);
}

function readBudget(of: string, name: string, text: string | undefined): NanoCredits | undefined {
  const amount = text === undefined ? undefined : parseCredits(text, `limits.${of}.${name}`);
  if (amount === undefined || amount >= 0n) return amount;
  throw refused(`${of}.${name}`, 'must not be negative');
}

function refused(name: string, problem: string): ParleyError {
  return invalid(`limits.${name}`, `\`limits.${name}\` ${problem}.`);
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function describeLimits(limits: Limits): LimitsMessage {
  const { models = [], addresses = [], budgets, perEndUser, ...rates } = limits;
  const textsOf = (amounts: Budgets) =>
    Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, formatCredits(amount)]));
  return create(LimitsSchema, {
    ...rates,
    models: [...models],
    addresses: [...addresses],
    ...(budgets && { budgets: textsOf(budgets) }),
    ...(perEndUser && { perEndUser: textsOf(perEndUser) }),
  });
}

/** The counts of all limits of an owner that last longer than a minute. */
export function countsOf(owner: string, limits: Limits | undefined, nowMs: number): readonly CountedAmount[] {
  if (limits === undefined) return [];
  return countedAmounts(owner, limits, { credits: 1n, audio_seconds: 1n, characters: 1n }, nowMs);
}

export function describeCount(count: CountedAmount, taken: bigint, nowMs: number): LimitCountMessage {
  const textOf = (amount: bigint) =>
    count.unit === 'credits' ? formatCredits(nanoCredits(amount)) : String(amount);
  const endMs = periodEndMs(count.period, nowMs);
  return create(LimitCountSchema, {
    name: nameOf(count),
    used: textOf(taken),
    limit: textOf(count.limit),
    ...(endMs !== undefined && { resetsAt: timestampFromMs(endMs) }),
  });
}

function nameOf({ unit, period }: CountedAmount): string {
  if (unit !== 'credits') return `${unit}_per_day`;
  const [day, month, total] = budgetNames;
  if (period === 'all') return `budgets.${total}`;
  return `budgets.${period.length === 'yyyy-mm'.length ? month : day}`;
}
