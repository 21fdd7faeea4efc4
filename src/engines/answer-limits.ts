/** Bounds on the answers of upstreams. A larger answer is an `upstream_error`. */
import type { ChatCompletionParams } from '../../gen/parley/chat/v1/chat_pb.ts';
import type { ElementLimits } from '../codec/json-scan.ts';

/** Room for six hours of transcribed words, or 1,500 tokens with the log probabilities of 20 others each. */
export const answerLimits: ElementLimits = { elementsMax: 250_000, levelsMax: 512 };

/** A JSON text of this many bytes cannot exceed `answerLimits`, as each level takes two. */
export const harmlessBytes = 1_024;

/** Enough for the largest answer that is read whole: text with a minute of audio. */
export const answerBytesMax = 33_554_432;

/** Minimum bytes of a chat answer, whatever its limit: servers repeat prompts, and some ignore the limit. */
const answerBytesBase = 4 * 1024 * 1024;
/** Room for a token in a chunk of its own with the log probabilities of 20 others, or for 50 ms of audio. */
const bytesPerToken = 4 * 1024;

/** Maximum bytes of the answer to this request, all choices together. */
export function chatAnswerBytesMax({ maxTokens, maxCompletionTokens, n }: ChatCompletionParams): number {
  const tokens = maxTokens ?? maxCompletionTokens ?? Number.POSITIVE_INFINITY;
  return answerBytesBase + tokens * (n ?? 1) * bytesPerToken;
}
