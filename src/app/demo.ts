/** The account and keys that `serve --demo` creates in an empty store. */
import { existsSync, renameSync } from 'node:fs';
import { create } from '@bufbuild/protobuf';
import * as pb from '../../gen/parley/admin/v1/admin_pb.ts';
import * as keyPb from '../../gen/parley/management/v1/management_pb.ts';
import { cliCall } from '../core/access/call.ts';
import { scopes } from '../core/entities/key.ts';
import { bounds } from '../core/values/bounds.ts';
import { sync } from '../store/sqlite/database/data-folder.ts';
import type { App } from './create-app.ts';
import { type FirstRun, firstRunPath, firstRunText, writeDurably } from './first-run.ts';

const accountName = 'demo';
const credits = '10';

interface DemoApp {
  readonly store: Pick<App['store'], 'isEmpty' | 'accounts'>;
  readonly services: Pick<App['services'], 'accounts'>;
}

/**
 * Writes `<dataDir>/first-run.json`, readable by its owner only. If an earlier start was interrupted, completes it with
 * new keys, as nobody has seen the earlier ones. Returns undefined, and creates nothing, if the store is not empty.
 * @param baseUrl the address for clients on this machine
 */
export async function createDemo(
  app: DemoApp,
  { dataDir, baseUrl }: { readonly dataDir: string; readonly baseUrl: string },
): Promise<FirstRun | undefined> {
  const path = firstRunPath(dataDir);
  const unfinished = `${path}.unfinished`;
  if (!existsSync(unfinished)) {
    if (!(await app.store.isEmpty())) return undefined;
    writeDurably(unfinished, '');
    sync(dataDir);
  }
  const firstRun = { baseUrl, ...(await createAccount(app)) };
  writeDurably(unfinished, firstRunText(firstRun));
  renameSync(unfinished, path);
  sync(dataDir);
  return firstRun;
}

/** Creates the missing parts of the account, and revokes the keys of an interrupted start. */
async function createAccount({ store, services: { accounts } }: DemoApp): Promise<Omit<FirstRun, 'baseUrl'>> {
  const accountId = accountName;
  if ((await store.accounts.find(accountName)) === undefined) {
    await accounts.createAccount(create(pb.CreateAccountRequestSchema, { name: accountName }), cliCall);
  }
  const { subscription } = (await store.accounts.find(accountName)) ?? {};
  if (subscription?.trial === undefined) {
    await accounts.startTrial(create(pb.StartTrialRequestSchema, { accountId }), cliCall);
  }
  const load = { accountId, amount: credits, reason: 'Demo', idempotencyKey: 'demo' };
  await accounts.loadCredits(create(pb.LoadCreditsRequestSchema, load), cliCall);
  const { keys } = await accounts.listKeys(
    create(keyPb.ListKeysRequestSchema, { accountId, pageSize: bounds.pageSize.maximum }),
    cliCall,
  );
  const { keys: adminKeys } = await accounts.listAdminKeys(
    create(pb.ListAdminKeysRequestSchema, { pageSize: bounds.pageSize.maximum }),
  );
  for (const { id: keyId, name, revokedAt } of [...keys, ...adminKeys]) {
    if (name !== accountName || revokedAt !== undefined) continue;
    await accounts.revokeKey(create(keyPb.RevokeKeyRequestSchema, { keyId }), cliCall);
  }
  const named = { name: accountName };
  // The demo shows all that a holder can do.
  const wanted = { accountId, ...named, scopes: [...scopes] };
  const key = await accounts.createKey(create(keyPb.CreateKeyRequestSchema, wanted), cliCall);
  const adminKey = await accounts.createAdminKey(create(pb.CreateAdminKeyRequestSchema, named), cliCall);
  return { apiKey: key.secret, adminKey: adminKey.secret };
}
