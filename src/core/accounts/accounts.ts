/** Accounts: administrators create, name, limit, suspend and delete them. */
import type { GetAccountRequest } from '../../../gen/parley/account/v1/account_pb.ts';
import type * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import { accountToChange, accountToRead, audit } from '../access/account-of-call.ts';
import type { AdminCall, AnyCall } from '../access/call.ts';
import { accountOrders, accountStates, entitlementAt, isEntitled, trialMs } from '../entities/account.ts';
import { readLimits } from '../limits/messages.ts';
import { newAccountId } from '../values/ids.ts';
import { invalid, nextPage, readOneOf, readPage } from '../values/parameters.ts';
import { checkFuture, checkText, nameTaken, required } from './checks.ts';
import type { AccountsDeps } from './deps.ts';
import { accountNow, describeAccount, describeTotals, limitNames } from './views.ts';

export function accountFunctions(deps: AccountsDeps) {
  const { store, accessClock } = deps;
  return {
    async createAccount(request: pb.CreateAccountRequest, call: AdminCall) {
      const name = checkText('name', request.name);
      const createdAtMs = accessClock.now();
      const account = { id: newAccountId(createdAtMs), name, createdAtMs };
      const entry = audit(deps, call, 'account.create', account.id, { name });
      if (!(await store.accounts.create(account, entry))) throw nameTaken(name);
      return accountNow(deps, account.id);
    },

    async listAccounts(request: pb.ListAccountsRequest) {
      const { nameContains, pageToken } = request;
      const filter = {
        nameContains: nameContains === undefined ? undefined : checkText('name_contains', nameContains),
        state: readOneOf('state', request.state, accountStates),
        nowMs: accessClock.now(),
      };
      const order = readOneOf('order_by', request.orderBy, accountOrders);
      const page = await store.accounts.list(readPage(request), filter, order ?? 'created');
      const accounts = await Promise.all(page.items.map((account) => describeAccount(deps, account)));
      const totals = pageToken === undefined ? await store.accounts.totals(filter) : undefined;
      return { accounts, ...nextPage(page), ...(totals && { totals: describeTotals(totals) }) };
    },

    async getAccount(request: GetAccountRequest, call: AnyCall) {
      return { account: await describeAccount(deps, await accountToRead(deps, request, call)) };
    },

    async renameAccount(request: pb.RenameAccountRequest, call: AdminCall) {
      const { account } = await accountToChange(deps, request, call);
      const { id, name: before } = account;
      const name = checkText('name', request.name);
      const entry = audit(deps, call, 'account.rename', id, { before, name });
      if (name !== before && !(await store.accounts.rename(id, name, entry))) throw nameTaken(name);
      return accountNow(deps, id);
    },

    async setAccountLimits(request: pb.SetAccountLimitsRequest, call: AdminCall) {
      const { id } = (await accountToChange(deps, request, call)).account;
      const limits = readLimits(request.limits);
      const entry = audit(deps, call, 'account.limits', id, { limits: limitNames(limits) });
      await store.accounts.setLimits(id, limits, entry);
      return accountNow(deps, id);
    },
  };
}

export function lifeFunctions(deps: AccountsDeps) {
  const { store, accessClock } = deps;
  return {
    async suspendAccount(request: pb.SuspendAccountRequest, call: AdminCall) {
      const { account } = await accountToChange(deps, request, call);
      const { id, suspendedAtMs = accessClock.now() } = account;
      await store.accounts.suspend(id, suspendedAtMs, audit(deps, call, 'account.suspend', id));
      return accountNow(deps, id);
    },

    async resumeAccount(request: pb.ResumeAccountRequest, call: AdminCall) {
      const { id } = (await accountToChange(deps, request, call)).account;
      await store.accounts.suspend(id, undefined, audit(deps, call, 'account.resume', id));
      return accountNow(deps, id);
    },

    async deleteAccount(request: pb.DeleteAccountRequest, call: AdminCall) {
      const { id } = (await accountToChange(deps, request, call)).account;
      await store.accounts.delete(id, accessClock.now(), audit(deps, call, 'account.delete', id));
      return accountNow(deps, id);
    },
  };
}

export function planFunctions(deps: AccountsDeps) {
  const { store, accessClock } = deps;
  return {
    async startTrial(request: pb.StartTrialRequest, call: AdminCall) {
      const { id, name } = (await accountToChange(deps, request, call)).account;
      const startsAtMs = accessClock.now();
      const period = { startsAtMs, endsAtMs: startsAtMs + trialMs };
      if (!(await store.accounts.startTrial(id, period, audit(deps, call, 'trial.start', id)))) {
        throw invalid('account_id', `The account \`${name}\` has already had its trial.`);
      }
      return accountNow(deps, id);
    },

    async activatePlan(request: pb.ActivatePlanRequest, call: AdminCall) {
      const { id, subscription } = (await accountToChange(deps, request, call)).account;
      const nowMs = accessClock.now();
      const endsAtMs = required('ends_at', checkFuture('ends_at', request.endsAt, nowMs));
      const { plan } = subscription;
      const startsAtMs = plan && plan.endsAtMs > nowMs ? plan.startsAtMs : nowMs;
      const entry = audit(deps, call, 'plan.activate', id, { endsAt: new Date(endsAtMs).toISOString() });
      await store.accounts.setPlan(id, { startsAtMs, endsAtMs }, entry);
      return accountNow(deps, id);
    },

    async endPlan(request: pb.EndPlanRequest, call: AdminCall) {
      const { id, name, subscription } = (await accountToChange(deps, request, call)).account;
      const nowMs = accessClock.now();
      const entitlement = entitlementAt(subscription, nowMs);
      if (!isEntitled(entitlement)) {
        throw invalid('account_id', `The account \`${name}\` has no running plan or trial.`);
      }
      const entry = audit(deps, call, 'plan.end', id, { state: entitlement.state });
      await store.accounts.endSubscription(id, nowMs, entry);
      return accountNow(deps, id);
    },
  };
}
