import { create } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import * as pb from '../../gen/parley/admin/v1/admin_pb.ts';
import { type AccountDeps, describeAccount, describeRecord } from './account.ts';
import { trialMs } from './entitlement.ts';
import { ParleyError } from './errors.ts';
import { newAccountId, newKeyId, newLedgerEntryId } from './ids.ts';
import { hashKey, type KeyKind, keyKinds, newKeySecret } from './keys.ts';
import { parseCredits } from './money.ts';
import { nextPage, readPage } from './paging.ts';
import { type Account, type Key, type Scope, scopes } from './ports/store.ts';

const nameCharactersMax = 100;
const reasonCharactersMax = 200;
/** 30 days. */
const overlapSecondsMax = 2_592_000;

interface IssuedKey {
  readonly key: Key;
  readonly secret: string;
}

/** What AdminService does. Who may call it is the gate's business. */
export class AdminOperations {
  readonly #deps: AccountDeps;

  constructor(deps: AccountDeps) {
    this.#deps = deps;
  }

  async createAccount(request: pb.CreateAccountRequest): Promise<pb.CreateAccountResponse> {
    const name = checkText('name', request.name, nameCharactersMax);
    const nowMs = this.#deps.clock.now();
    const account = { id: newAccountId(nowMs), name, createdAtMs: nowMs };
    if (!(await this.#deps.store.createAccount(account))) {
      throw invalid('name', `There is an account named \`${name}\` already. Choose another name.`);
    }
    return create(pb.CreateAccountResponseSchema, await this.#view(account.id));
  }

  async listAccounts(request: pb.ListAccountsRequest): Promise<pb.ListAccountsResponse> {
    const page = await this.#deps.store.listAccounts(readPage(request));
    const accounts = await Promise.all(page.items.map((account) => describeAccount(account, this.#deps)));
    return create(pb.ListAccountsResponseSchema, { accounts, ...nextPage(page) });
  }

  async getAccount(request: pb.GetAccountRequest): Promise<pb.GetAccountResponse> {
    return create(pb.GetAccountResponseSchema, await this.#view(request.accountId));
  }

  async startTrial(request: pb.StartTrialRequest): Promise<pb.StartTrialResponse> {
    const { id, name } = await this.#account(request.accountId);
    const startsAtMs = this.#deps.clock.now();
    if (!(await this.#deps.store.startTrial(id, { startsAtMs, endsAtMs: startsAtMs + trialMs }))) {
      throw invalid('account_id', `The account \`${name}\` has had its trial.`);
    }
    return create(pb.StartTrialResponseSchema, await this.#view(id));
  }

  async loadCredits(request: pb.LoadCreditsRequest): Promise<pb.LoadCreditsResponse> {
    const { id } = await this.#account(request.accountId);
    const amount = parseCredits(required('amount', request.amount));
    if (amount <= 0n) throw invalid('amount', '`amount` must be above zero.');
    const createdAtMs = this.#deps.clock.now();
    const loaded = await this.#deps.store.loadCredits({
      id: newLedgerEntryId(createdAtMs),
      accountId: id,
      amount,
      reason: checkText('reason', request.reason, reasonCharactersMax),
      idempotencyKey: checkText('idempotency_key', request.idempotencyKey, reasonCharactersMax),
      createdAtMs,
    });
    if (!loaded) throw new ParleyError('idempotency_conflict', { param: 'idempotency_key' });
    return create(pb.LoadCreditsResponseSchema, await this.#view(id));
  }

  async createKey(request: pb.CreateKeyRequest): Promise<pb.CreateKeyResponse> {
    const account = await this.#account(request.accountId);
    const issued = this.#issue({
      kind: 'account',
      accountId: account.id,
      name: checkText('name', request.name, nameCharactersMax),
      scopes: checkScopes(request.scopes),
      expiresAtMs: this.#checkExpiry(request.expiresAt && timestampMs(request.expiresAt)),
    });
    await this.#deps.store.createKey(issued.key);
    return create(pb.CreateKeyResponseSchema, describeIssued(issued));
  }

  /** Makes an admin key; there is no RPC for it, as it is what opens the RPCs. */
  async createAdminKey(name: string): Promise<IssuedKey> {
    const issued = this.#issue({
      kind: 'admin',
      accountId: undefined,
      name,
      scopes: [],
      expiresAtMs: undefined,
    });
    await this.#deps.store.createKey(issued.key);
    return issued;
  }

  async listKeys(request: pb.ListKeysRequest): Promise<pb.ListKeysResponse> {
    const { id } = await this.#account(request.accountId);
    const keys = await this.#deps.store.listKeys(id);
    return create(pb.ListKeysResponseSchema, { keys: keys.map(describeKey) });
  }

  async rotateKey(request: pb.RotateKeyRequest): Promise<pb.RotateKeyResponse> {
    const old = await this.#key(request.keyId);
    if (old.revokedAtMs !== undefined) throw invalid('key_id', 'The key is revoked. Create a new one.');
    const overlapSeconds = request.overlapSeconds ?? 0;
    if (overlapSeconds < 0 || overlapSeconds > overlapSecondsMax) {
      throw invalid('overlap_seconds', `\`overlap_seconds\` must be from 0 to ${overlapSecondsMax}.`);
    }
    const oldExpiresAtMs = this.#deps.clock.now() + overlapSeconds * 1000;
    if (old.expiresAtMs !== undefined && old.expiresAtMs <= this.#deps.clock.now()) {
      throw invalid('key_id', 'The key has expired. Create a new one.');
    }
    const issued = this.#issue(old);
    await this.#deps.store.rotateKey(
      old.id,
      Math.min(oldExpiresAtMs, old.expiresAtMs ?? Infinity),
      issued.key,
    );
    return create(pb.RotateKeyResponseSchema, describeIssued(issued));
  }

  async revokeKey(request: pb.RevokeKeyRequest): Promise<pb.RevokeKeyResponse> {
    const key = await this.#key(request.keyId);
    const revokedAtMs = key.revokedAtMs ?? this.#deps.clock.now();
    await this.#deps.store.revokeKey(key.id, revokedAtMs);
    return create(pb.RevokeKeyResponseSchema, { key: describeKey({ ...key, revokedAtMs }) });
  }

  async listUsageRecords(request: pb.ListUsageRecordsRequest): Promise<pb.ListUsageRecordsResponse> {
    const account = request.accountId === undefined ? undefined : await this.#account(request.accountId);
    const page = await this.#deps.store.listRecords(account?.id, readPage(request));
    return create(pb.ListUsageRecordsResponseSchema, {
      records: page.items.map(describeRecord),
      ...nextPage(page),
    });
  }

  async #account(idOrName: string): Promise<Account> {
    const account = await this.#deps.store.findAccount(idOrName);
    if (account !== undefined) return account;
    throw new ParleyError('not_found', {
      message: 'There is no such account. List the accounts to see their ids and names.',
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
      message: "There is no such key. List the account's keys to see their ids.",
      param: 'key_id',
    });
  }

  #issue(facts: Pick<Key, 'kind' | 'accountId' | 'name' | 'scopes' | 'expiresAtMs'>): IssuedKey {
    const { kind, accountId, name, scopes, expiresAtMs } = facts;
    const secret = newKeySecret(kind);
    const nowMs = this.#deps.clock.now();
    const key: Key = {
      ...{ id: newKeyId(nowMs), kind, accountId, name, scopes, expiresAtMs },
      hash: hashKey(secret),
      lastFour: secret.slice(-4),
      createdAtMs: nowMs,
      revokedAtMs: undefined,
    };
    return { key, secret };
  }

  #checkExpiry(expiresAtMs: number | undefined): number | undefined {
    if (expiresAtMs !== undefined && expiresAtMs <= this.#deps.clock.now()) {
      throw invalid('expires_at', '`expires_at` must be in the future.');
    }
    return expiresAtMs;
  }
}

function describeKey(key: Key) {
  return create(pb.KeySchema, {
    id: key.id,
    name: key.name,
    prefix: keyKinds[key.kind satisfies KeyKind],
    lastFour: key.lastFour,
    scopes: [...key.scopes],
    createdAt: timestampFromMs(key.createdAtMs),
    ...(key.accountId !== undefined && { accountId: key.accountId }),
    ...(key.expiresAtMs !== undefined && { expiresAt: timestampFromMs(key.expiresAtMs) }),
    ...(key.revokedAtMs !== undefined && { revokedAt: timestampFromMs(key.revokedAtMs) }),
  });
}

function describeIssued({ key, secret }: IssuedKey) {
  return { key: describeKey(key), secret };
}

function checkScopes(wanted: readonly string[]): readonly Scope[] {
  if (wanted.length === 0) return scopes;
  const unknown = wanted.find((name) => !scopes.some((scope) => scope === name));
  if (unknown !== undefined) throw invalid('scopes', `\`scopes\` takes ${scopes.join(', ')}.`);
  return scopes.filter((scope) => wanted.includes(scope));
}

function checkText(param: string, text: string | undefined, charactersMax: number): string {
  const trimmed = required(param, text).trim();
  if (trimmed === '' || trimmed.length > charactersMax) {
    throw invalid(param, `\`${param}\` must have 1 to ${charactersMax} characters.`);
  }
  return trimmed;
}

function required(param: string, text: string | undefined): string {
  if (text === undefined) throw invalid(param, `Send \`${param}\`.`);
  return text;
}

function invalid(param: string, message: string): ParleyError {
  return new ParleyError('invalid_parameter', { message, param });
}
