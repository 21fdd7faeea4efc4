import type { AdminConnection } from './admin-connection.ts';

/** The names of accounts, by their ids. Each is asked for once. */
export async function accountNames(
  admin: AdminConnection,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for (const accountId of new Set(ids)) {
    const { account } = await admin.invoke('getAccount', { accountId });
    names.set(accountId, account?.name ?? accountId);
  }
  return names;
}
