import { create } from '@bufbuild/protobuf';
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import { entitlementAt, trialMs } from '../access/entitlement.ts';
import { hashKey, newKeySecret } from '../access/keys.ts';
import { describeEntry } from '../account/ledger-entry.ts';
import { type AccountDeps, describeAccount, describeRecord, readRecordFilter } from '../account/service.ts';
import type { AdminCall } from '../call.ts';
import { ParleyError } from '../errors.ts';
import { newAccountId, newAuditId, newKeyId, newLedgerEntryId } from '../ids.ts';
import { invalid, nextPage, readPage } from '../parameters.ts';
import type { Account } from '../ports/accounts.ts';
import type { AuditEntry } from '../ports/audit.ts';
import type { Key } from '../ports/keys.ts';
import type { LedgerEntry } from '../ports/ledger.ts';
import type { ServerFacts } from '../ports/server.ts';
import { quote } from '../quote.ts';
import * as check from './checks.ts';
import { describeServer, diagnoseServer } from './server.ts';
import { getUsageTotals, pruneUsageRecords } from './usage.ts';
import { describeAudit, describeIssued, describeKey, type IssuedKey } from './views.ts';

interface AdminDeps extends AccountDeps {
  /** Undefined in a command on the data folder, which runs no server. */
  readonly server: ServerFacts | undefined;
}

/** Implements AdminService. The gate decides who may call it; the audit trail records who did. */
export class AdminOperations {
  readonly #deps: AdminDeps;

  constructor(deps: AdminDeps) {
    this.#deps = deps;
  }

  async createAccount(request: pb.CreateAccountRequest, call: AdminCall): Promise<pb.CreateAccountResponse> {
    const name = check.checkText('name', request.name, check.nameCharactersMax);
    const nowMs = this.#now();
    const account = { id: newAccountId(nowMs), name, createdAtMs: nowMs };
    const audit = this.#audit(call, 'account.create', account.id, { name });
    if (!(await this.#deps.store.createAccount(account, audit))) {
      throw invalid('name', `There is an account named \`${name}\` already. Choose another name.`);
    }
    return create(pb.CreateAccountResponseSchema, await this.#view(account.id));
  }

  async listAccounts(request: pb.ListAccountsRequest): Promise<pb.ListAccountsResponse> {
    const { nameContains: part } = request;
    const name = part && check.checkText('name_contains', part, check.nameCharactersMax);
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
    const endsAtMs = check.required('ends_at', this.#future('ends_at', request.endsAt));
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

  async loadCredits(request: pb.LoadCreditsRequest, call: AdminCall): Promise<pb.LoadCreditsResponse> {
    const account = await this.#enter('load', request, call);
    return create(pb.LoadCreditsResponseSchema, await this.#view(account.id));
  }

  async adjustCredits(request: pb.AdjustCreditsRequest, call: AdminCall): Promise<pb.AdjustCreditsResponse> {
    const account = await this.#enter('adjustment', request, call);
    return create(pb.AdjustCreditsResponseSchema, await this.#view(account.id));
  }

  async listLedgerEntries(request: pb.ListLedgerEntriesRequest): Promise<pb.ListLedgerEntriesResponse> {
    const { id } = await this.#account(request.accountId);
    const page = await this.#deps.store.listEntries(id, readPage(request));
    const entries = page.items.map(describeEntry);
    return create(pb.ListLedgerEntriesResponseSchema, { entries, ...nextPage(page) });
  }

  async createKey(request: pb.CreateKeyRequest, call: AdminCall): Promise<pb.CreateKeyResponse> {
    const account = await this.#account(request.accountId);
    const issued = this.#issue({
      kind: 'account',
      accountId: account.id,
      name: check.checkText('name', request.name, check.nameCharactersMax),
      scopes: check.checkScopes(request.scopes),
      expiresAtMs: this.#future('expires_at', request.expiresAt),
    });
    await this.#store(issued, call);
    return create(pb.CreateKeyResponseSchema, describeIssued(issued));
  }

  async listKeys(request: pb.ListKeysRequest): Promise<pb.ListKeysResponse> {
    const { id } = await this.#account(request.accountId);
    const keys = await this.#deps.store.listKeys(id);
    return create(pb.ListKeysResponseSchema, { keys: keys.map(describeKey) });
  }

  async createAdminKey(
    request: pb.CreateAdminKeyRequest,
    call: AdminCall,
  ): Promise<pb.CreateAdminKeyResponse> {
    const issued = this.#issue({
      kind: 'admin',
      accountId: undefined,
      name: check.checkText('name', request.name, check.nameCharactersMax),
      scopes: [],
      expiresAtMs: this.#future('expires_at', request.expiresAt),
    });
    await this.#store(issued, call);
    return create(pb.CreateAdminKeyResponseSchema, describeIssued(issued));
  }

  async listAdminKeys(_request: pb.ListAdminKeysRequest): Promise<pb.ListAdminKeysResponse> {
    const keys = await this.#deps.store.listKeys(undefined);
    return create(pb.ListAdminKeysResponseSchema, { keys: keys.map(describeKey) });
  }

  async rotateKey(request: pb.RotateKeyRequest, call: AdminCall): Promise<pb.RotateKeyResponse> {
    const old = await this.#key(request.keyId);
    const nowMs = this.#now();
    const lastsUntilMs = old.expiresAtMs ?? Infinity;
    if (old.revokedAtMs !== undefined || lastsUntilMs <= nowMs) {
      throw invalid('key_id', 'The key is revoked or has expired. Create a new one.');
    }
    const overlapMs = check.checkOverlap(request.overlapSeconds) * 1000;
    const end =
      overlapMs === 0 ? { revokedAtMs: nowMs } : { expiresAtMs: Math.min(nowMs + overlapMs, lastsUntilMs) };
    const issued = this.#issue(old);
    const audit = this.#audit(call, 'key.rotate', old.id, { replacement: issued.key.id });
    await this.#deps.store.rotateKey(old.id, end, issued.key, audit);
    return create(pb.RotateKeyResponseSchema, describeIssued(issued));
  }

  async revokeKey(request: pb.RevokeKeyRequest, call: AdminCall): Promise<pb.RevokeKeyResponse> {
    const key = await this.#key(request.keyId);
    const revokedAtMs = key.revokedAtMs ?? this.#now();
    await this.#deps.store.revokeKey(key.id, revokedAtMs, this.#audit(call, 'key.revoke', key.id, {}));
    return create(pb.RevokeKeyResponseSchema, { key: describeKey({ ...key, revokedAtMs }) });
  }

  async listUsageRecords(request: pb.ListUsageRecordsRequest): Promise<pb.ListUsageRecordsResponse> {
    const account = request.accountId === undefined ? undefined : await this.#account(request.accountId);
    const filter = readRecordFilter(request, account?.id);
    const page = await this.#deps.store.listRecords(filter, readPage(request));
    return create(pb.ListUsageRecordsResponseSchema, {
      records: page.items.map(describeRecord),
      ...nextPage(page),
    });
  }

  async getUsageTotals(request: pb.GetUsageTotalsRequest): Promise<pb.GetUsageTotalsResponse> {
    const account = request.accountId === undefined ? undefined : await this.#account(request.accountId);
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

  diagnoseServer(): Promise<pb.DiagnoseServerResponse> {
    return diagnoseServer(this.#deps.server);
  }

  async #enter(
    kind: 'load' | 'adjustment',
    request: pb.LoadCreditsRequest | pb.AdjustCreditsRequest,
    call: AdminCall,
  ): Promise<Account> {
    const account = await this.#account(request.accountId);
    const amount = check.checkAmount(request.amount);
    if (kind === 'load' && amount <= 0n) throw invalid('amount', '`amount` must be above zero.');
    if (amount === 0n) throw invalid('amount', '`amount` must not be zero.');
    const createdAtMs = this.#now();
    const entry: LedgerEntry = {
      id: newLedgerEntryId(createdAtMs),
      accountId: account.id,
      kind,
      amount,
      reason: check.checkText('reason', request.reason, check.reasonCharactersMax),
      reference: check.checkText('idempotency_key', request.idempotencyKey, check.reasonCharactersMax),
      createdAtMs,
    };
    const details = { amount: String(request.amount), reason: entry.reason, reference: entry.reference };
    const outcome = await this.#deps.store.enter(
      entry,
      this.#audit(call, `credits.${kind}`, account.id, details),
    );
    if (outcome === 'conflict') throw new ParleyError('idempotency_conflict', { param: 'idempotency_key' });
    if (outcome === 'insufficient_credits') {
      throw check.tooMuchTaken((await this.#deps.store.findAccount(account.id)) ?? account);
    }
    if (outcome === 'balance_too_large') {
      throw invalid('amount', 'The balance would be larger than an account can hold. Load less.');
    }
    return account;
  }

  #now(): number {
    return this.#deps.accessClock.now();
  }

  #future(param: string, time: Timestamp | undefined): number | undefined {
    return check.checkFuture(param, time && timestampMs(time), this.#now());
  }

  #audit(call: AdminCall, action: string, target: string, details: AuditEntry['details']): AuditEntry {
    const createdAtMs = this.#now();
    return { id: newAuditId(createdAtMs), createdAtMs, actor: call.actor, action, target, details };
  }

  async #account(idOrName: string): Promise<Account> {
    const account = await this.#deps.store.findAccount(idOrName);
    if (account !== undefined) return account;
    throw new ParleyError('not_found', {
      message: `There is no such account: ${quote(idOrName)}. List the accounts to see their ids and names.`,
      param: 'account_id',
    });
  }

  async #view(idOrName: string) {
    return { account: await describeAccount(await this.#account(idOrName), this.#deps) };
  }

  async #key(id: string): Promise<Key> {
    const key = await this.#deps.store.findKeyById(id);
    if (key !== undefined) return key;
    throw new ParleyError('not_found', {
      message: `There is no such key: ${quote(id)}. List the account's keys to see their ids.`,
      param: 'key_id',
    });
  }

  #issue(facts: Pick<Key, 'kind' | 'accountId' | 'name' | 'scopes' | 'expiresAtMs'>): IssuedKey {
    const { kind, accountId, name, scopes, expiresAtMs } = facts;
    const secret = newKeySecret(kind);
    const nowMs = this.#now();
    const key: Key = {
      ...{ id: newKeyId(nowMs), kind, accountId, name, scopes, expiresAtMs },
      hash: hashKey(secret),
      lastFour: secret.slice(-4),
      createdAtMs: nowMs,
      revokedAtMs: undefined,
    };
    return { key, secret };
  }

  async #store({ key }: IssuedKey, call: AdminCall): Promise<void> {
    const details = { name: key.name, scopes: key.scopes, account: key.accountId ?? '' };
    await this.#deps.store.createKey(key, this.#audit(call, 'key.create', key.id, details));
  }
}
