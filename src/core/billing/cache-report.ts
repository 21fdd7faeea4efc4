/** The tokens of a prompt that an upstream read from its cache or wrote to it. Upstreams report them in several forms. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { Usage } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { TokenUsage } from '../entities/usage.ts';

type Cache = Pick<TokenUsage, 'cachedTokens' | 'cacheWriteTokens'>;

/** Members of `usage` for the tokens that were read: DeepSeek; Moonshot and Together; gateways before Anthropic. */
const readMembers = ['prompt_cache_hit_tokens', 'cached_tokens', 'cache_read_input_tokens'];
/** A member of `usage` for the tokens that were written: gateways before Anthropic. */
const writeMember = 'cache_creation_input_tokens';
/** The same in `prompt_tokens_details`: LiteLLM. */
const writeDetail = 'cache_creation_tokens';

/**
 * The tokens by the first member that reports them, as gateways send several. Nothing of a report that cannot be true: a
 * negative or fractional count, or more tokens than the prompt has.
 */
export function readCache({ promptTokens, promptTokensDetails: details, other }: Usage): Cache {
  const read = [details?.cachedTokens, details?.other?.['cached_tokens'], ...membersOf(other, readMembers)];
  const written = [
    ...[details?.cacheWriteTokens, details?.other?.['cache_write_tokens'], details?.other?.[writeDetail]],
    other?.[writeMember],
  ];
  const [cachedTokens, cacheWriteTokens] = [read, written].map((values) =>
    values.find((value) => value != null),
  );
  if (!isCount(cachedTokens) || !isCount(cacheWriteTokens)) return {};
  return (cachedTokens ?? 0) + (cacheWriteTokens ?? 0) > promptTokens
    ? {}
    : { cachedTokens, cacheWriteTokens };
}

function membersOf(members: JsonObject | undefined, names: readonly string[]): (JsonValue | undefined)[] {
  return names.map((name) => members?.[name]);
}

function isCount(value: JsonValue | undefined): value is number | undefined {
  return value === undefined || (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0);
}
