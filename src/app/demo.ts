/** The account and keys that `serve --demo` creates in an empty store. */

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { z } from 'zod';
import * as pb from '../../gen/parley/admin/v1/admin_pb.ts';
import { cliCall } from '../core/access/call.ts';
import { bounds } from '../core/values/bounds.ts';
import { sync } from '../store/sqlite/database/data-folder.ts';
import type { App } from './create-app.ts';

const firstRunFile = z.object({ baseUrl: z.url(), apiKey: z.string(), adminKey: z.string() });
export type FirstRun = Readonly<z.infer<typeof firstRunFile>>;

export function firstRunPath(dataDir: string): string {
  return join(dataDir, 'first-run.json');
}

/** The keys of an earlier start; undefined if the file is missing or malformed. */
export function readFirstRun(dataDir: string): FirstRun | undefined {
  try {
    return firstRunFile.parse(JSON.parse(readFileSync(firstRunPath(dataDir), 'utf8')));
  } catch {
    // The file is a convenience, so a malformed one is not an error.
    return undefined;
  }
}

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
  writeDurably(unfinished, toText(firstRun));
  renameSync(unfinished, path);
  sync(dataDir);
  return firstRun;
}

/** Writes the address of the running server into the file of an earlier start, if there is one. */
export function updateFirstRun(dataDir: string, baseUrl: string): void {
  const firstRun = readFirstRun(dataDir);
  if (firstRun === undefined || firstRun.baseUrl === baseUrl) return;
  const path = firstRunPath(dataDir);
  const next = `${path}.next`;
  writeDurably(next, toText({ ...firstRun, baseUrl }));
  renameSync(next, path);
}

function toText(firstRun: FirstRun): string {
  return `${JSON.stringify(firstRun, null, 2)}\n`;
}

function writeDurably(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 });
  sync(path);
}

/** Creates what is missing of the account, and revokes the keys of an interrupted start. */
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
    create(pb.ListKeysRequestSchema, { accountId, pageSize: bounds.pageSize.maximum }),
    cliCall,
  );
  const { keys: adminKeys } = await accounts.listAdminKeys(
    create(pb.ListAdminKeysRequestSchema, { pageSize: bounds.pageSize.maximum }),
  );
  for (const { id: keyId, name, revokedAt } of [...keys, ...adminKeys]) {
    if (name !== accountName || revokedAt !== undefined) continue;
    await accounts.revokeKey(create(pb.RevokeKeyRequestSchema, { keyId }), cliCall);
  }
  const named = { name: accountName };
  const key = await accounts.createKey(create(pb.CreateKeyRequestSchema, { accountId, ...named }), cliCall);
  const adminKey = await accounts.createAdminKey(create(pb.CreateAdminKeyRequestSchema, named), cliCall);
  return { apiKey: key.secret, adminKey: adminKey.secret };
}
