/** Tokens and cost of an answer. */
import type { UsageRecord } from '../../../../gen/parley/account/v1/account_pb.ts';
import type { Model } from '../../../../gen/parley/catalog/v1/catalog_pb.ts';
import type { Usage } from '../../../../gen/parley/chat/v1/chat_pb.ts';
import { nanoOf } from '../../credits.ts';
import type { PlayClients } from '../clients.ts';

export interface Tokens {
  readonly promptTokens?: number;
  readonly completionTokens?: number;
  readonly cachedTokens?: number;
  readonly cacheWriteTokens?: number;
}

export function tokensOf({ promptTokens, completionTokens, promptTokensDetails }: Usage): Tokens {
  const { cachedTokens, cacheWriteTokens } = promptTokensDetails ?? {};
  return {
    promptTokens,
    completionTokens,
    ...(cachedTokens !== undefined && { cachedTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
  };
}

/** The price of the tokens in nano-credits, rounded as on the server; undefined while they are unknown. */
export function costOf({ price }: Model, tokens: Tokens): bigint | undefined {
  const { promptTokens, completionTokens, cachedTokens = 0, cacheWriteTokens = 0 } = tokens;
  if (price === undefined || promptTokens === undefined || completionTokens === undefined) return undefined;
  const { input, output, cachedInput = input, cacheWrite = input } = price;
  const whole =
    nanoOf(input) * BigInt(promptTokens - cachedTokens - cacheWriteTokens) +
    nanoOf(cachedInput) * BigInt(cachedTokens) +
    nanoOf(cacheWrite) * BigInt(cacheWriteTokens) +
    nanoOf(output) * BigInt(completionTokens);
  return (whole + 999_999n) / 1_000_000n;
}

/** The server settles an answer that was stopped a moment later. */
const waitsMs = [100, 400, 1_000, 2_000, 4_000];

/** The bill in the usage record. Empty if the record does not have it in time, or the request had no id. */
export async function billOf(
  { account }: Pick<PlayClients, 'account'>,
  id: string | undefined,
): Promise<Tokens & { readonly cost?: bigint }> {
  if (id === undefined) return {};
  for (const waitMs of waitsMs) {
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    try {
      const [record] = (await account.listUsageRecords({ id })).records;
      if (record !== undefined && record.state !== 'started') return billed(record);
    } catch {
      // The answer is there without its bill.
      return {};
    }
  }
  return {};
}

function billed({ promptTokens, completionTokens, costNanoCredits: cost = 0n }: UsageRecord) {
  return {
    ...(promptTokens !== undefined && { promptTokens }),
    ...(completionTokens !== undefined && { completionTokens }),
    cost,
  };
}
