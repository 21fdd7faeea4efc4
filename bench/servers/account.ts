import { create } from '@bufbuild/protobuf';
import * as pb from '../../gen/parley/admin/v1/admin_pb.ts';
import * as keyPb from '../../gen/parley/management/v1/management_pb.ts';
import type { App } from '../../src/app/create-app.ts';
import { cliCall } from '../../src/core/access/call.ts';

/** Every limit of a key or an account, each larger than any run reaches. */
const everyLimit = {
  models: ['bench', 'other-*'],
  addresses: ['127.0.0.0/8', '::1'],
  requestsPerMinute: 1e9,
  tokensPerMinute: 2e9,
  concurrentRequests: 1e6,
  audioSecondsPerDay: 1e9,
  charactersPerDay: 1e9,
  budgets: { day: '1000000', month: '1000000', total: '1000000' },
};

/**
 * Opens an account with a trial and more credits than any run spends.
 * @param isLimited whether the key and the account have every limit
 * @returns the secret of its key
 */
export async function openAccount(
  { services: { accounts } }: App,
  accountId = 'bench',
  isLimited = false,
): Promise<string> {
  await accounts.createAccount(create(pb.CreateAccountRequestSchema, { name: accountId }), cliCall);
  await accounts.startTrial(create(pb.StartTrialRequestSchema, { accountId }), cliCall);
  const load = { accountId, amount: '1000000', reason: 'bench', idempotencyKey: accountId };
  await accounts.loadCredits(create(pb.LoadCreditsRequestSchema, load), cliCall);
  const limits = isLimited ? { limits: everyLimit } : {};
  if (isLimited) {
    await accounts.setAccountLimits(
      create(pb.SetAccountLimitsRequestSchema, { accountId, ...limits }),
      cliCall,
    );
  }
  const key = create(keyPb.CreateKeyRequestSchema, { accountId, name: 'bench', ...limits });
  return (await accounts.createKey(key, cliCall)).secret;
}
