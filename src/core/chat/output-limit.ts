/**
 * The limit of an answer's length. Clients name it in several ways; Parley holds credits for one limit and sends only
 * that one.
 */
import type { JsonObject } from '@bufbuild/protobuf';
import type { ChatCompletionParams } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { isObject } from '../values/json.ts';
import { numberOf } from '../values/long-integers.ts';

/** Names that some servers accept for a limit besides the two of the schema. llama.cpp prefers `n_predict` to `max_tokens`. */
const limitAliases: readonly string[] = [
  'n_predict',
  'num_predict',
  'max_new_tokens',
  'max_output_tokens',
  'max_tokens_to_sample',
  'max_gen_toks',
  'max_length',
];
const limitNames: ReadonlySet<string> = new Set(['max_tokens', 'max_completion_tokens', ...limitAliases]);
/** llama.cpp prefers it to `n`. */
const choicesAlias = 'n_cmpl';
/** Parameters that Parley itself uses, besides the limits. */
const reliedNames: ReadonlySet<string> = new Set(['model', 'messages', 'stream', 'stream_options', 'n']);
/** All members that Parley itself writes into the request of an upstream, and their other names. */
export const ownMembers: readonly string[] = [...reliedNames, ...limitNames, choicesAlias];

/**
 * Removes every member that a server could read as a limit or as another parameter that Parley uses.
 * @returns the client's limit for each choice: the smallest that is 1 or more. Infinity if there is none; 0 and -1 also
 * mean no limit
 */
export function takeLimit({
  maxTokens = 0,
  maxCompletionTokens = 0,
  other = {},
}: ChatCompletionParams): number {
  let least = Infinity;
  const take = (limit: number) => {
    if (limit >= 1) least = Math.min(least, limit);
  };
  take(maxTokens);
  take(maxCompletionTokens);
  for (const name of Object.keys(other)) {
    const read = folded(name);
    if (limitNames.has(read)) take(Math.floor(numberOf(other[name]) ?? 0));
    if (isShadow(name, read, other)) delete other[name];
  }
  return least;
}

/** Renames an alias of `n` to `n`, so that it is checked and included in the hold. */
export function takeChoices(params: ChatCompletionParams): void {
  const alias = numberOf(params.other?.[choicesAlias]);
  if (alias !== undefined) params.n = Math.max(params.n ?? 1, alias);
}

/** Sets the limit of each choice under the names that the client used. */
export function setOutputLimit(params: ChatCompletionParams, limit: number): void {
  if (params.maxCompletionTokens !== undefined) params.maxCompletionTokens = limit;
  if (params.maxTokens !== undefined || params.maxCompletionTokens === undefined) params.maxTokens = limit;
  const least = numberOf(params.other?.['min_tokens']) ?? 0;
  if (params.other && least > limit) params.other['min_tokens'] = limit;
  const thinking = params.other?.['thinking'];
  const budget = budgetOf(params);
  // Upstreams refuse a limit that the thinking alone could use up.
  if (isObject(thinking) && budget >= limit) thinking['budget_tokens'] = limit - 1;
}

/** The least budget for thinking that the Messages API accepts. */
const thinkingTokensMin = 1_024;

/** The smallest limit up to `longest` that leaves room for an answer after the least thinking. */
export function leastLimit(params: ChatCompletionParams, longest: number): number {
  return Math.min(longest, Math.min(budgetOf(params), thinkingTokensMin) + 1);
}

/** Tokens for thinking, rounded up; 0 without a budget. */
function budgetOf({ other }: ChatCompletionParams): number {
  const thinking = other?.['thinking'];
  if (!isObject(thinking) || thinking['type'] !== 'enabled') return 0;
  return Math.max(0, Math.ceil(numberOf(thinking['budget_tokens']) ?? 0));
}

function isShadow(name: string, read: string, other: JsonObject): boolean {
  if (limitNames.has(read) || read === choicesAlias) return true;
  if (!reliedNames.has(read)) return false;
  return name !== read || (other[name] !== null && name !== 'stream_options');
}

/** Go servers ignore the case of member names, by Unicode's rules: `\u017f` matches `s`. */
function folded(name: string): string {
  return name.toUpperCase().toLowerCase();
}
