/** What `serve --demo` makes in an empty store, so that a first visitor has something to call with. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { z } from 'zod';
import * as pb from '../gen/parley/admin/v1/admin_pb.ts';
import type { App } from './app.ts';
import { cliCall } from './core/call.ts';

const firstRunFile = z.object({ baseUrl: z.url(), apiKey: z.string(), adminKey: z.string() });
export type FirstRun = Readonly<z.infer<typeof firstRunFile>>;

export function firstRunPath(dataDir: string): string {
  return join(dataDir, 'first-run.json');
}

/** What an earlier start has written; undefined where there is nothing of the kind. */
export function readFirstRun(dataDir: string): FirstRun | undefined {
  try {
    return firstRunFile.parse(JSON.parse(readFileSync(firstRunPath(dataDir), 'utf8')));
  } catch {
    // The file is there for convenience: missing and unreadable are the same to who would use it.
    return undefined;
  }
}

const accountName = 'demo';
const credits = '10';

/**
 * Undefined, and nothing made, where the store is not empty. Writes `<dataDir>/first-run.json`, for its owner only.
 *
 * @param baseUrl where clients on this machine reach the app
 */
export async function createDemo(
  app: {
    readonly store: Pick<App['store'], 'isEmpty'>;
    readonly services: Pick<App['services'], 'admin'>;
  },
  { dataDir, baseUrl }: { readonly dataDir: string; readonly baseUrl: string },
): Promise<FirstRun | undefined> {
  if (!(await app.store.isEmpty())) return undefined;
  const { admin } = app.services;
  const { account } = await admin.createAccount(
    create(pb.CreateAccountRequestSchema, { name: accountName }),
    cliCall,
  );
  const accountId = account?.id ?? accountName;
  await admin.startTrial(create(pb.StartTrialRequestSchema, { accountId }), cliCall);
  const load = { accountId, amount: credits, reason: 'Demo', idempotencyKey: 'demo' };
  await admin.loadCredits(create(pb.LoadCreditsRequestSchema, load), cliCall);
  const { secret } = await admin.createKey(
    create(pb.CreateKeyRequestSchema, { accountId, name: accountName }),
    cliCall,
  );
  const adminKey = await admin.createAdminKey(
    create(pb.CreateAdminKeyRequestSchema, { name: accountName }),
    cliCall,
  );
  const firstRun = { baseUrl, apiKey: secret, adminKey: adminKey.secret };
  writeFileSync(firstRunPath(dataDir), `${JSON.stringify(firstRun, null, 2)}\n`, { mode: 0o600 });
  return firstRun;
}
