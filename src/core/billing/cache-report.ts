/** The tokens of a prompt that an upstream read from its cache or wrote to it. Upstreams report them in several forms. */
import type { JsonValue } from '@bufbuild/protobuf';
import type { Usage } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { TokenUsage } from '../entities/usage.ts';

type Cache = Pick<TokenUsage, 'cachedTokens' | 'cacheWriteTokens'>;

/**
 * The tokens by the first member that reports them, as gateways send several. Nothing of a report that cannot be true: a
 * negative or fractional count, or more tokens than the prompt has.
 */
export function readCache({ promptTokens, promptTokensDetails: details, other }: Usage): Cache {
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
