import { create } from '@bufbuild/protobuf';
import * as pb from '../../gen/parley/admin/v1/admin_pb.ts';
import type { App } from '../../src/app/create-app.ts';
import { cliCall } from '../../src/core/call.ts';

/** Opens an account with a trial and more credits than any run spends. @returns the secret of its key */
export async function openAccount({ services: { admin } }: App, accountId = 'bench'): Promise<string> {
  await admin.createAccount(create(pb.CreateAccountRequestSchema, { name: accountId }), cliCall);
  await admin.startTrial(create(pb.StartTrialRequestSchema, { accountId }), cliCall);
  const load = { accountId, amount: '1000000', reason: 'bench', idempotencyKey: accountId };
  await admin.loadCredits(create(pb.LoadCreditsRequestSchema, load), cliCall);
  const key = create(pb.CreateKeyRequestSchema, { accountId, name: 'bench' });
  return (await admin.createKey(key, cliCall)).secret;
}
