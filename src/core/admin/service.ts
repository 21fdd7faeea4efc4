import { create } from '@bufbuild/protobuf';
import * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import * as alerts from '../../../gen/parley/admin/v1/alerts_pb.ts';
import type { AdminCall } from '../access/call.ts';
import { describeEntry } from '../account/ledger-entry.ts';
import { type AccountDeps, describeAccount } from '../account/service.ts';
import type { AccountAlerts } from '../alerts/account-alerts.ts';
import type { Account } from '../entities/account.ts';
import { type AuditEntry, auditEntry } from '../entities/audit.ts';
import type { ServerFacts } from '../entities/server.ts';
import { entitlementAt, trialMs } from '../entities/subscription.ts';
import { readLimits } from '../limits/messages.ts';
import { newAccountId } from '../values/ids.ts';
import { invalid, nextPage, readPage } from '../values/parameters.ts';
import * as check from './checks.ts';
import { enterCredits } from './credits.ts';
import { IssuedKeys, type KeysDeps, limitNames } from './keys.ts';
import { describeServer, diagnoseServer, listNodes } from './server.ts';
import { getUsageTotals, listUsageRecords, pruneUsageRecords } from './usage.ts';
import { describeAudit } from './views.ts';

interface AdminDeps extends AccountDeps, KeysDeps {
  /** Undefined in a command on the data folder, which runs no server. */
  readonly server: ServerFacts | undefined;
  readonly alerts: AccountAlerts;
}

/** Implements AdminService. The gate decides who may call it; the audit trail records who did. */
export class AdminOperations {
  readonly #deps: AdminDeps;
  readonly #keys: IssuedKeys;

  constructor(deps: AdminDeps) {
    this.#deps = deps;
    this.#keys = new IssuedKeys(deps);
  }

  async createAccount(request: pb.CreateAccountRequest, call: AdminCall): Promise<pb.CreateAccountResponse> {
    const name = check.checkText('name', request.name);
    const nowMs = this.#now();
    const account = { id: newAccountId(nowMs), name, createdAtMs: nowMs };
    const audit = this.#audit(call, 'account.create', account.id, { name });
    if (!(await this.#deps.store.createAccount(account, audit))) throw check.nameTaken(name);
    return create(pb.CreateAccountResponseSchema, await this.#view(account.id));
  }

  async listAccounts(request: pb.ListAccountsRequest): Promise<pb.ListAccountsResponse> {
    const { nameContains: part } = request;
    const name = part === undefined ? part : check.checkText('name_contains', part);
    const page = await this.#deps.store.listAccounts(readPage(request), name);
    const accounts = await Promise.all(page.items.map((account) => describeAccount(account, this.#deps)));
    return create(pb.ListAccountsResponseSchema, { accounts, ...nextPage(page) });
  }

  async getAccount(request: pb.GetAccountRequest): Promise<pb.GetAccountResponse> {
    return create(pb.GetAccountResponseSchema, await this.#view(request.accountId));
  }

  async startTrial(request: pb.StartTrialRequest, call: AdminCall): Promise<pb.StartTrialResponse> {
    const { id, name } = await this.#account(request.accountId);
    const startsAtMs = this.#now();
    const period = { startsAtMs, endsAtMs: startsAtMs + trialMs };
    if (!(await this.#deps.store.startTrial(id, period, this.#audit(call, 'trial.start', id, {})))) {
      throw invalid('account_id', `The account \`${name}\` has had its trial.`);
    }
    return create(pb.StartTrialResponseSchema, await this.#view(id));
  }

  async activatePlan(request: pb.ActivatePlanRequest, call: AdminCall): Promise<pb.ActivatePlanResponse> {
    const { id, subscription } = await this.#account(request.accountId);
    const nowMs = this.#now();
    const endsAtMs = check.required('ends_at', this.#keys.future('ends_at', request.endsAt));
    const { plan } = subscription;
    const startsAtMs = plan && plan.endsAtMs > nowMs ? plan.startsAtMs : nowMs;
    const audit = this.#audit(call, 'plan.activate', id, { endsAt: new Date(endsAtMs).toISOString() });
    await this.#deps.store.setPlan(id, { startsAtMs, endsAtMs }, audit);
    return create(pb.ActivatePlanResponseSchema, await this.#view(id));
  }

  async endPlan(request: pb.EndPlanRequest, call: AdminCall): Promise<pb.EndPlanResponse> {
    const { id, name, subscription } = await this.#account(request.accountId);
    const { state } = entitlementAt(subscription, this.#now());
    if (state !== 'active' && state !== 'trial') {
      throw invalid('account_id', `The account \`${name}\` has no plan or trial that runs.`);
    }
    await this.#deps.store.endSubscription(id, this.#now(), this.#audit(call, 'plan.end', id, { state }));
    return create(pb.EndPlanResponseSchema, await this.#view(id));
  }

  async renameAccount(request: pb.RenameAccountRequest, call: AdminCall): Promise<pb.RenameAccountResponse> {
    const { id, name: before } = await this.#account(request.accountId);
    const name = check.checkText('name', request.name);
    const audit = this.#audit(call, 'account.rename', id, { before, name });
    if (name !== before && !(await this.#deps.store.renameAccount(id, name, audit)))
      throw check.nameTaken(name);
    return create(pb.RenameAccountResponseSchema, await this.#view(id));
  }

  async suspendAccount(
    request: pb.SuspendAccountRequest,
    call: AdminCall,
  ): Promise<pb.SuspendAccountResponse> {
    const { id, suspendedAtMs = this.#now() } = await this.#account(request.accountId);
    await this.#deps.store.suspendAccount(id, suspendedAtMs, this.#audit(call, 'account.suspend', id, {}));
    return create(pb.SuspendAccountResponseSchema, await this.#view(id));
  }

  async resumeAccount(request: pb.ResumeAccountRequest, call: AdminCall): Promise<pb.ResumeAccountResponse> {
    const { id } = await this.#account(request.accountId);
    await this.#deps.store.suspendAccount(id, undefined, this.#audit(call, 'account.resume', id, {}));
    return create(pb.ResumeAccountResponseSchema, await this.#view(id));
  }

  async deleteAccount(request: pb.DeleteAccountRequest, call: AdminCall): Promise<pb.DeleteAccountResponse> {
    const { id } = await this.#account(request.accountId);
    await this.#deps.store.deleteAccount(id, this.#now(), this.#audit(call, 'account.delete', id, {}));
    return create(pb.DeleteAccountResponseSchema, await this.#view(id));
  }

  async setAccountLimits(
    request: pb.SetAccountLimitsRequest,
    call: AdminCall,
  ): Promise<pb.SetAccountLimitsResponse> {
    const { id } = await this.#account(request.accountId);
    const limits = readLimits(request.limits);
    const audit = this.#audit(call, 'account.limits', id, { limits: limitNames(limits) });
    await this.#deps.store.setAccountLimits(id, limits, audit);
    return create(pb.SetAccountLimitsResponseSchema, await this.#view(id));
  }

  async getAlertSettings({
    accountId,
  }: alerts.GetAlertSettingsRequest): Promise<alerts.GetAlertSettingsResponse> {
    const { id } = await this.#account(accountId);
    return create(alerts.GetAlertSettingsResponseSchema, await this.#deps.alerts.settings(id));
  }

  async setAlertSettings(
    request: alerts.SetAlertSettingsRequest,
    call: AdminCall,
  ): Promise<alerts.SetAlertSettingsResponse> {
    const { id } = await this.#account(request.accountId);
    const set = await this.#deps.alerts.setSettings(id, request, call);
    return create(alerts.SetAlertSettingsResponseSchema, set);
  }

  async listAlerts(request: alerts.ListAlertsRequest): Promise<alerts.ListAlertsResponse> {
    const { id } = await this.#account(request.accountId);
    return create(alerts.ListAlertsResponseSchema, await this.#deps.alerts.list(id, request));
  }

  async sendTestAlert({ accountId }: alerts.SendTestAlertRequest): Promise<alerts.SendTestAlertResponse> {
    const { id } = await this.#account(accountId);
    return create(alerts.SendTestAlertResponseSchema, { alert: await this.#deps.alerts.sendTest(id) });
  }

  async loadCredits(request: pb.LoadCreditsRequest, call: AdminCall): Promise<pb.LoadCreditsResponse> {
    const account = await this.#enter('load', request, call);
    return create(pb.LoadCreditsResponseSchema, await this.#view(account.id));
  }

  async adjustCredits(request: pb.AdjustCreditsRequest, call: AdminCall): Promise<pb.AdjustCreditsResponse> {
    const account = await this.#enter('adjustment', request, call);
    return create(pb.AdjustCreditsResponseSchema, await this.#view(account.id));
  }

  async listLedgerEntries(request: pb.ListLedgerEntriesRequest): Promise<pb.ListLedgerEntriesResponse> {
    const { id } = await this.#anyAccount(request.accountId);
    const page = await this.#deps.store.listEntries(id, readPage(request));
    const entries = page.items.map(describeEntry);
    return create(pb.ListLedgerEntriesResponseSchema, { entries, ...nextPage(page) });
  }

  async createKey(request: pb.CreateKeyRequest, call: AdminCall): Promise<pb.CreateKeyResponse> {
    const account = await this.#account(request.accountId);
    const facts = {
      kind: 'account' as const,
      accountId: account.id,
      name: check.checkText('name', request.name),
      scopes: check.checkScopes(request.scopes),
      expiresAtMs: this.#keys.future('expires_at', request.expiresAt),
      limits: readLimits(request.limits),
    };
    return create(pb.CreateKeyResponseSchema, await this.#keys.create(facts, call));
  }

  async listKeys(request: pb.ListKeysRequest): Promise<pb.ListKeysResponse> {
    const { id } = await this.#anyAccount(request.accountId);
    return create(pb.ListKeysResponseSchema, await this.#keys.list(id, request));
  }

  async createAdminKey(
    request: pb.CreateAdminKeyRequest,
    call: AdminCall,
  ): Promise<pb.CreateAdminKeyResponse> {
    const facts = {
      kind: 'admin' as const,
      accountId: undefined,
      name: check.checkText('name', request.name),
      scopes: [],
      expiresAtMs: this.#keys.future('expires_at', request.expiresAt),
    };
    return create(pb.CreateAdminKeyResponseSchema, await this.#keys.create(facts, call));
  }

  async listAdminKeys(request: pb.ListAdminKeysRequest): Promise<pb.ListAdminKeysResponse> {
    return create(pb.ListAdminKeysResponseSchema, await this.#keys.list(undefined, request));
  }

  async rotateKey(request: pb.RotateKeyRequest, call: AdminCall): Promise<pb.RotateKeyResponse> {
    const old = await this.#keys.find(request.keyId);
    const issued = await this.#keys.rotate(old, request.overlapSeconds, call);
    return create(pb.RotateKeyResponseSchema, issued);
  }

  async setKeyLimits(request: pb.SetKeyLimitsRequest, call: AdminCall): Promise<pb.SetKeyLimitsResponse> {
    const key = await this.#keys.find(request.keyId);
    const described = await this.#keys.setLimits(key, readLimits(request.limits), call);
    return create(pb.SetKeyLimitsResponseSchema, { key: described });
  }

  async revokeKey(request: pb.RevokeKeyRequest, call: AdminCall): Promise<pb.RevokeKeyResponse> {
    const key = await this.#keys.find(request.keyId);
    return create(pb.RevokeKeyResponseSchema, { key: await this.#keys.revoke(key, call) });
  }

  async listUsageRecords(request: pb.ListUsageRecordsRequest): Promise<pb.ListUsageRecordsResponse> {
    const account = request.accountId === undefined ? undefined : await this.#anyAccount(request.accountId);
    return listUsageRecords(this.#deps.store, request, account?.id);
  }

  async getUsageTotals(request: pb.GetUsageTotalsRequest): Promise<pb.GetUsageTotalsResponse> {
    const account = request.accountId === undefined ? undefined : await this.#anyAccount(request.accountId);
    return getUsageTotals(this.#deps.store, request, account?.id);
  }

  pruneUsageRecords(
    request: pb.PruneUsageRecordsRequest,
    call: AdminCall,
  ): Promise<pb.PruneUsageRecordsResponse> {
    return pruneUsageRecords(this.#deps.store, request, this.#now(), (details) =>
      this.#audit(call, 'usage.prune', 'usage', details),
    );
  }

  async listAuditEntries(request: pb.ListAuditEntriesRequest): Promise<pb.ListAuditEntriesResponse> {
    const page = await this.#deps.store.listAudit(readPage(request));
    const entries = page.items.map(describeAudit);
    return create(pb.ListAuditEntriesResponseSchema, { entries, ...nextPage(page) });
  }

  async getServerState(): Promise<pb.GetServerStateResponse> {
    return describeServer(this.#deps.server);
  }

  listNodes(): Promise<pb.ListNodesResponse> {
    return listNodes(this.#deps.store);
  }

  diagnoseServer(): Promise<pb.DiagnoseServerResponse> {
    return diagnoseServer(this.#deps.server);
  }

  async #enter(
    kind: 'load' | 'adjustment',
    request: pb.LoadCreditsRequest | pb.AdjustCreditsRequest,
    call: AdminCall,
  ): Promise<Account> {
    const account = await this.#account(request.accountId);
    await enterCredits(this.#deps.store, { kind, account, createdAtMs: this.#now() }, request, call);
    return account;
  }

  #now(): number {
    return this.#deps.accessClock.now();
  }

  #audit(call: AdminCall, action: string, target: string, details: AuditEntry['details']): AuditEntry {
    return auditEntry(this.#now(), call, { action, target, details });
  }

  /** @throws `not_found`, also for a deleted account */
  async #account(idOrName: string): Promise<Account> {
    const account = await this.#anyAccount(idOrName);
    if (account.deletedAtMs === undefined) return account;
    throw check.accountDeleted();
  }

  /** A deleted account can still be read. */
  async #anyAccount(idOrName: string): Promise<Account> {
    const account = await this.#deps.store.findAccount(idOrName);
    if (account !== undefined) return account;
    throw check.noSuchAccount(idOrName);
  }

  async #view(idOrName: string) {
    return { account: await describeAccount(await this.#anyAccount(idOrName), this.#deps) };
  }
}
