import { create, type JsonValue } from '@bufbuild/protobuf';
import { PromptTokensDetailsSchema, type Usage, UsageSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { TokenUsage } from '../entities/usage.ts';
import type { Clock } from '../values/clock.ts';
import { present } from '../values/json.ts';
import type { Log } from '../values/log.ts';

/** Members under which the lenient decoder stores a count that is not a whole number. */
const countMembers = ['prompt_tokens', 'completion_tokens', 'total_tokens'];

/**
 * The token counts that a model reports. Undefined without a report, and for a report that cannot be true: a negative or fractional
 * count, no prompt tokens, or no output tokens although there is output.
 */
export function readReport(usage: Usage | undefined, hasOutput: boolean): TokenUsage | undefined {
  if (usage === undefined) return undefined;
  const { promptTokens, totalTokens, other } = usage;
  if (other && countMembers.some((name) => other[name] !== undefined)) return undefined;
  const counts = [promptTokens, usage.completionTokens, totalTokens];
  if (!counts.every((count) => Number.isSafeInteger(count) && count >= 0)) return undefined;
  // Some models count reasoning only in the total.
  const completionTokens = Math.max(usage.completionTokens, totalTokens - promptTokens);
  if (promptTokens === 0 || (completionTokens === 0 && hasOutput)) return undefined;
  const sum = promptTokens + completionTokens;
  return { promptTokens, completionTokens, totalTokens: sum, source: 'reported', ...readCache(usage) };
}

/** The usage as clients see it, equal to the record. @param report the believed report, whose other members stay */
export function usageOf(tokens: TokenUsage, report: Usage | undefined): Usage {
  const { promptTokens, completionTokens, totalTokens, cachedTokens, cacheWriteTokens } = tokens;
  const usage = create(UsageSchema, { ...report, promptTokens, completionTokens, totalTokens });
  const { promptTokensDetails: details } = usage;
  if (details === undefined && cachedTokens === undefined && cacheWriteTokens === undefined) return usage;
  const { audioTokens, other } = details ?? {};
  const known = present({ cachedTokens, cacheWriteTokens, audioTokens, other });
  return Object.assign(usage, { promptTokensDetails: create(PromptTokensDetailsSchema, known) });
}

/** The most tokens that a model can have used: its context, and the allowed output. */
export type TokenBounds = Pick<TokenUsage, 'promptTokens' | 'completionTokens'>;

/** Whether a model can have used this many tokens. @param counted our own count, for a model that ignores its limit */
export function isPossible(
  { promptTokens, completionTokens }: TokenUsage,
  bounds: TokenBounds,
  counted?: TokenUsage,
): boolean {
  const completionMax = Math.max(bounds.completionTokens, counted?.completionTokens ?? 0);
  return promptTokens <= bounds.promptTokens && completionTokens <= completionMax;
}

/**
 * A report in which each side that no model can have used is bounded. It is never below our own count, so that what cannot be
 * counted here, such as images and hidden reasoning, is not free.
 */
export function boundedReport(reported: TokenUsage, bounds: TokenBounds, counted: TokenUsage): TokenUsage {
  const { cachedTokens = 0, cacheWriteTokens = 0, ...others } = reported;
  const promptTokens = withinBound(reported.promptTokens, bounds.promptTokens, counted.promptTokens);
  const completionTokens = withinBound(
    reported.completionTokens,
    bounds.completionTokens,
    counted.completionTokens,
  );
  const totalTokens = promptTokens + completionTokens;
  const known = cachedTokens + cacheWriteTokens > promptTokens ? others : reported;
  return { ...known, promptTokens, completionTokens, totalTokens, source: 'estimated' };
}

function withinBound(reported: number, bound: number, counted: number): number {
  return Math.max(Math.min(reported, bound), reported > bound ? counted : 0);
}

/** The larger counts of the last report and our own count, for an answer that was cut short. */
export function largerTokens(reported: TokenUsage | undefined, counted: TokenUsage): TokenUsage {
  if (reported === undefined) return counted;
  const promptTokens = Math.max(reported.promptTokens, counted.promptTokens);
  const completionTokens = Math.max(reported.completionTokens, counted.completionTokens);
  const totalTokens = promptTokens + completionTokens;
  const source = totalTokens > reported.totalTokens ? 'estimated' : reported.source;
  return { ...reported, promptTokens, completionTokens, totalTokens, source };
}

/** The tokens of a prompt that an upstream read from its cache or wrote to it. Upstreams report them in several forms. */
type Cache = Pick<TokenUsage, 'cachedTokens' | 'cacheWriteTokens'>;

/**
 * The tokens by the first member that reports them, as gateways send several. Nothing of a report that cannot be true: a
 * negative or fractional count, or more tokens than the prompt has.
 */
function readCache({ promptTokens, promptTokensDetails: details, other }: Usage): Cache {
  const inDetails = details?.other;
  const cachedTokens =
    details?.cachedTokens ??
    inDetails?.['cached_tokens'] ??
    // DeepSeek; Moonshot and Together; gateways before Anthropic.
    other?.['prompt_cache_hit_tokens'] ??
    other?.['cached_tokens'] ??
    other?.['cache_read_input_tokens'] ??
    undefined;
  const cacheWriteTokens =
    details?.cacheWriteTokens ??
    inDetails?.['cache_write_tokens'] ??
    // LiteLLM; gateways before Anthropic.
    inDetails?.['cache_creation_tokens'] ??
    other?.['cache_creation_input_tokens'] ??
    undefined;
  if (!isCount(cachedTokens) || !isCount(cacheWriteTokens)) return {};
  const isPossible = (cachedTokens ?? 0) + (cacheWriteTokens ?? 0) <= promptTokens;
  return isPossible ? { cachedTokens, cacheWriteTokens } : {};
}

function isCount(value: JsonValue | undefined): value is number | undefined {
  return value === undefined || (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0);
}

const everyMs = 60_000;

interface Reporting {
  readonly model: { readonly id: string };
  readonly call: { readonly id: string };
  readonly bounds: TokenBounds;
}

interface Warned {
  readonly atMs: number;
  /** Number of later reports that were not logged. */
  unlogged: number;
}

/**
 * Logs impossible token reports, at most one per minute and model, as a model with wrong settings may send one with
 * each chat.
 */
export class ReportWarnings {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #warned = new Map<string, Warned>();

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** The report, bounded and logged if it is impossible, as the operator may have to correct the model's settings. */
  believed(
    { model, call, bounds }: Reporting,
    reported: TokenUsage | undefined,
    counted: TokenUsage,
  ): TokenUsage | undefined {
    if (reported === undefined || isPossible(reported, bounds, counted)) return reported;
    this.#warn(model.id, { requestId: call.id, reported, counted, bounds });
    return boundedReport(reported, bounds, counted);
  }

  #warn(model: string, facts: object): void {
    const nowMs = this.#clock.now();
    const last = this.#warned.get(model);
    if (last && Math.abs(nowMs - last.atMs) < everyMs) {
      last.unlogged++;
      return;
    }
    this.#warned.set(model, { atMs: nowMs, unlogged: 0 });
    const fields = { model, ...facts, unlogged: last?.unlogged ?? 0 };
    this.#log.warn(
      fields,
      'the model reports more tokens than it can have used; charging the most that it can have used',
    );
  }
}
