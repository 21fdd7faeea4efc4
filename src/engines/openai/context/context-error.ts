/** Finds out whether an upstream refuses a prompt because it is too long. Servers say so in many ways. */
import { contextLengthExceeded, type ErrorDetails, type ParleyError } from '../../../core/values/errors.ts';

/** Names of the error in its `code` or `type`: of OpenAI and its like, and of llama.cpp. */
const names = /"(context_length_exceeded|exceed_context_size_error)"/;
/** Sentences of vLLM, SGLang, DeepSeek, Mistral, Gemini, Kimi, Qwen, Anthropic and older versions of llama.cpp. */
const sentences =
  /context (length|size|window)|prompt is too long|input token count|exceeded model token limit|range of input length/i;
/** Sentences about the limit of the answer alone. */
const ofAnswer = /^\W*(max_tokens|max_completion_tokens|max_output_tokens)\b/i;
const maximum =
  /(?:maximum context length (?:is|of)|maximum number of tokens allowed|token limit|context length|context size|n_ctx"|(?<=>)|\d,)[\s:(]*(\d+)|(\d+) maximum context/i;
/** Longer numbers, and those within a word, are ids and times. */
const someNumber = /(?<![\w-])\d{1,9}(?![\w-])/g;

/** An event may be long: the error stands at its beginning, as in the body of a status. */
const readLength = 4_096;

/**
 * The error for the client; undefined if the upstream refuses the request for another reason. The upstream's words are
 * not passed on, only the numbers in them.
 * @param json of the error, perhaps cut off
 */
export function contextError(json: string, details: ErrorDetails): ParleyError | undefined {
  const body = json.slice(0, readLength);
  if (!names.test(body) && (!sentences.test(body) || ofAnswer.test(messageOf(body)))) return undefined;
  return contextLengthExceeded(tokensIn(body), details);
}

function tokensIn(body: string) {
  const [, first, second] = maximum.exec(body) ?? [];
  const most = Number(first ?? second);
  const prompt = Math.max(...(body.match(someNumber) ?? []).map(Number));
  return prompt > most ? { prompt, maximum: most } : undefined;
}

function messageOf(body: string): string {
  return /"message"\s*:\s*"([^"]*)/.exec(body)?.[1] ?? '';
}
