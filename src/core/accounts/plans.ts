import type * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import { accountToChange } from '../access/account-of-call.ts';
import type { AdminCall } from '../access/call.ts';
import { entitlementAt, isEntitled, trialMs } from '../entities/subscription.ts';
import { invalid } from '../values/parameters.ts';
import { checkFuture, required } from './checks.ts';
import { type AccountsDeps, audit } from './deps.ts';
import { accountNow } from './views.ts';

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
