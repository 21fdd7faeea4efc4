/** Keys as holders and administrators see them: without their secrets, with the used amounts of their limits. */
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { LimitCount } from '../../../gen/parley/account/v1/limits_pb.ts';
import { type Key as KeyMessage, KeySchema } from '../../../gen/parley/admin/v1/admin_pb.ts';
import type { Key } from '../entities/key.ts';
import { countsOf, describeCount, describeLimits } from '../limits/messages.ts';
import { keyKinds } from '../values/key-secret.ts';
import type { Page } from '../values/page.ts';
import { nextPage } from '../values/parameters.ts';
import type { AccountsDeps } from './deps.ts';

export async function describeKeys(deps: AccountsDeps, page: Page<Key, string>) {
  return { keys: page.items.map(await describer(deps, page.items)), ...nextPage(page) };
}

export async function describeKey(deps: AccountsDeps, key: Key): Promise<KeyMessage> {
  const describe = await describer(deps, [key]);
  return describe(key);
}

/** Reads the counts of all these keys at once. */
async function describer({ store, clock }: AccountsDeps, keys: readonly Key[]) {
  const nowMs = clock.now();
  const counts = new Map(keys.map((key) => [key, countsOf(key.originId, key.limits, nowMs)]));
  const all = [...counts.values()].flat();
  const amounts = all.length === 0 ? [] : await store.requests.taken(all);
  const taken = new Map(all.map((count, at) => [count, amounts[at]]));
  return (key: Key) => {
    const own = counts.get(key) ?? [];
    return keyMessage(
      key,
      own.map((count) => describeCount(count, taken.get(count) ?? 0n, nowMs)),
    );
  };
}

function keyMessage(key: Key, limitCounts: LimitCount[]): KeyMessage {
  return create(KeySchema, {
    id: key.id,
    name: key.name,
    prefix: keyKinds[key.kind],
    lastFour: key.lastFour,
    scopes: [...key.scopes],
    createdAt: timestampFromMs(key.createdAtMs),
    limitCounts,
    ...(key.limits && { limits: describeLimits(key.limits) }),
    ...(key.lastUsedAtMs !== undefined && { lastUsedAt: timestampFromMs(key.lastUsedAtMs) }),
    ...(key.accountId !== undefined && { accountId: key.accountId }),
    ...(key.expiresAtMs !== undefined && { expiresAt: timestampFromMs(key.expiresAtMs) }),
    ...(key.revokedAtMs !== undefined && { revokedAt: timestampFromMs(key.revokedAtMs) }),
  });
}
