import type { Usage } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { TokenUsage } from '../ports/usage.ts';

/** Where a lenient reader leaves a count that is not a whole number. */
const countMembers = ['prompt_tokens', 'completion_tokens', 'total_tokens'];

/**
 * The tokens that a model reports. Undefined where it reports none, and where the report cannot be true: a count that is
 * negative or not whole, no prompt, or nothing produced where there is a text.
 *
 * @param answer all text that the model produced, reasoning included
 */
export function readReport(usage: Usage | undefined, answer: string): TokenUsage | undefined {
  if (usage === undefined || countMembers.some((name) => usage.other?.[name] !== undefined)) return undefined;
  const { promptTokens, totalTokens } = usage;
  const counts = [promptTokens, usage.completionTokens, totalTokens];
  if (!counts.every((count) => Number.isSafeInteger(count) && count >= 0)) return undefined;
  // Reasoning that is reported apart is in the total only.
  const completionTokens = Math.max(usage.completionTokens, totalTokens - promptTokens);
  if (promptTokens === 0 || (completionTokens === 0 && answer !== '')) return undefined;
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens, source: 'reported' };
}
