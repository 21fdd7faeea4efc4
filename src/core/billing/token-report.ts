import type { Usage } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { TokenUsage } from '../entities/usage.ts';

/** Members under which the lenient decoder keeps a count that is not a whole number. */
const countMembers = ['prompt_tokens', 'completion_tokens', 'total_tokens'];

/**
 * The token counts that a model reports. Undefined without a report, and for a report that cannot be true: a negative or fractional
 * count, no prompt tokens, or no output tokens although there is text.
 *
 * @param answer all text that the model produced, reasoning included
 */
export function readReport(usage: Usage | undefined, answer: string): TokenUsage | undefined {
  if (usage === undefined || countMembers.some((name) => usage.other?.[name] !== undefined)) return undefined;
  const { promptTokens, totalTokens } = usage;
  const counts = [promptTokens, usage.completionTokens, totalTokens];
  if (!counts.every((count) => Number.isSafeInteger(count) && count >= 0)) return undefined;
  // Some models count reasoning only in the total.
  const completionTokens = Math.max(usage.completionTokens, totalTokens - promptTokens);
  if (promptTokens === 0 || (completionTokens === 0 && answer !== '')) return undefined;
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens, source: 'reported' };
}

/** The most tokens that a model can have used: its context, and the output that it was allowed. */
export type TokenBounds = Pick<TokenUsage, 'promptTokens' | 'completionTokens'>;

/** Whether a model can have used so many tokens. @param counted our own count, where a model ignores its limit */
export function isPossible(
  { promptTokens, completionTokens }: TokenUsage,
  bounds: TokenBounds,
  counted?: TokenUsage,
): boolean {
  const completionMax = Math.max(bounds.completionTokens, counted?.completionTokens ?? 0);
  return promptTokens <= bounds.promptTokens && completionTokens <= completionMax;
}
