/**
 * Writes a database of the newest schema, with every kind of row, as SQL: `node test/store/migrations/schemas/write.ts`. Run it
 * once with the code of a new migration: later code must open the database. Needs `sqlite3`.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newAlert } from '../../../../src/core/alerts/alerts.ts';
import type { AuditEntry } from '../../../../src/core/entities/audit.ts';
import type { IdempotencyClaim } from '../../../../src/core/entities/idempotency.ts';
import type { Key } from '../../../../src/core/entities/key.ts';
import type { LedgerEntry } from '../../../../src/core/entities/ledger.ts';
import type { Store } from '../../../../src/core/entities/store.ts';
import type { RecordEnd, RecordStart } from '../../../../src/core/entities/usage.ts';
import {
  type AccountId,
  type KeyId,
  newAccountId,
  newAuditId,
  newKeyId,
  newLedgerEntryId,
  type RequestId,
} from '../../../../src/core/values/ids.ts';
import { nanoCredits } from '../../../../src/core/values/money.ts';
import { migrations } from '../../../../src/store/migrations/migrations.ts';
import { openStore } from '../../../../src/store/sqlite/open-store.ts';
import { fairUse } from '../../../support/reservations.ts';
import { storedKey } from '../../../support/stored-key.ts';
import { recordEnd, recordStart } from '../../../support/usage-record.ts';

const day = 86_400_000;
const startMs = Date.UTC(2026, 10, 1, 12);
let nowMs = startMs;
const tick = () => ++nowMs;

function audit(action: string, target: string): AuditEntry {
  const createdAtMs = tick();
  return { id: newAuditId(createdAtMs), createdAtMs, actor: 'cli', action, target, details: { by: 'test' } };
}

async function newAccount(store: Store, name: string): Promise<AccountId> {
  const createdAtMs = tick();
  const id = newAccountId(createdAtMs);
  await store.accounts.create({ id, name, createdAtMs }, audit('account.create', id));
  return id;
}

function newKey(kind: Key['kind'], accountId: AccountId | undefined, name: string): Key {
  const createdAtMs = tick();
  const scopes: Key['scopes'] = accountId ? ['speech', 'chat'] : [];
  const names = { name, hash: `hash of ${name}`, lastFour: 'wxyz' };
  return storedKey(newKeyId(createdAtMs), accountId, { kind, scopes, createdAtMs, ...names });
}

function newEntry(accountId: AccountId, kind: 'load' | 'adjustment', amount: bigint): LedgerEntry {
  const createdAtMs = tick();
  const id = newLedgerEntryId(createdAtMs);
  const reasons = { reason: `a ${kind} – “ü”`, reference: `${kind}-1` };
  return { id, accountId, kind, createdAtMs, amount: nanoCredits(amount), ...reasons };
}

interface Caller {
  readonly accountId: AccountId;
  readonly keyId: KeyId;
}

function newStart(caller: Caller, operation: RecordStart['operation'], model?: string): RecordStart {
  const startedAtMs = tick();
  const characters = operation === 'speech' ? 12 : undefined;
  const labels = operation === 'chat' ? { endUser: 'ann ü', tags: 'one,two' } : {};
  return recordStart(caller, { operation, model, startedAtMs, characters, ...labels });
}

const end = (state: RecordEnd['state'], facts: Partial<RecordEnd> = {}) =>
  recordEnd(state, { firstOutputMs: 3, durationMs: 40, ...facts });

const month = '2026-11';
const price = { inputPerMillion: nanoCredits(100_000_000n), outputPerMillion: nanoCredits(400_000_000n) };
const hold = { amount: nanoCredits(50_000n), price };
const tokens = { promptTokens: 20, completionTokens: 30, totalTokens: 50, source: 'reported' } as const;

function newClaim(accountId: AccountId, key: string, requestId: RequestId): IdempotencyClaim {
  const fingerprint = `print of ${key}`;
  return { accountId, operation: 'chat', key, fingerprint, requestId, nowMs, forgetBeforeMs: 0 };
}

/** Requests with every kind of end, and some that run when the process is killed. */
async function addRequests(store: Store, caller: Caller): Promise<void> {
  const chat = newStart(caller, 'chat', 'eliza');
  const claim = newClaim(caller.accountId, 'first', chat.id);
  await store.idempotency.claim(claim);
  await store.requests.reserve(chat, { hold });
  const spent = { tokens, cost: nanoCredits(14_000n) };
  await store.requests.settle(chat.id, end('ok', spent), { claim, answer: Uint8Array.of(1, 2, 255) });
  await store.requests.record(newStart(caller, 'chat', 'eliza'), end('replayed', { tokens }));
  const left = newStart(caller, 'chat', 'eliza');
  await store.requests.reserve(left, { hold });
  const overrun = { tokens, cost: hold.amount, overrun: nanoCredits(7n) };
  await store.requests.settle(
    left.id,
    end('cancelled', { ...overrun, httpStatus: 499, code: 'request_cancelled' }),
  );
  const speech = newStart(caller, 'speech', 'flite');
  const counted = {
    owner: caller.keyId,
    unit: 'characters' as const,
    period: '2026-11-01',
    amount: 12n,
    limit: 100n,
  };
  await store.requests.reserve(speech, { counted: [fairUse(caller.accountId, 12, 1_000), counted] });
  await store.requests.settle(speech.id, end('ok', { fairUseUnits: 12, audioMsOut: 1_234 }));
  const failed = newStart(caller, 'transcription', 'pocketsphinx');
  await store.requests.reserve(failed, { counted: [fairUse(caller.accountId, 30, 1_000)] });
  const attempt = {
    engine: 'hears',
    code: 'upstream_error',
    upstreamStatus: 503,
    upstreamCode: 'overloaded',
  };
  const cause = { attempts: [{ ...attempt, durationMs: 40 }], returnedUnits: 30 };
  const facts = { engine: 'hears', reserved: hold.amount, cause };
  const failure = { httpStatus: 502, code: 'upstream_error', fairUseUnits: 0, audioMsIn: 2_000, ...facts };
  await store.requests.settle(failed.id, end('failed', failure));
  await store.requests.record(newStart(caller, 'catalog'), end('ok'));
  await store.requests.record(
    newStart(caller, 'chat'),
    end('refused', { httpStatus: 400, code: 'missing_model' }),
  );
  const running = newStart(caller, 'chat', 'eliza');
  await store.idempotency.claim(newClaim(caller.accountId, 'second', running.id));
  await store.requests.reserve(running, { hold });
  await store.requests.started(running.id);
  const spoken = newStart(caller, 'speech', 'flite');
  await store.requests.reserve(spoken, { counted: [fairUse(caller.accountId, 12, 1_000)] });
  await store.requests.started(spoken.id);
}

async function fill(store: Store): Promise<void> {
  const accountId = await newAccount(store, 'acme ü');
  const poor = await newAccount(store, 'poor');
  await store.accounts.startTrial(
    accountId,
    { startsAtMs: nowMs, endsAtMs: nowMs + 14 * day },
    audit('trial.start', 'a'),
  );
  await store.accounts.setPlan(
    accountId,
    { startsAtMs: nowMs, endsAtMs: nowMs + 90 * day },
    audit('plan.activate', 'a'),
  );
  await store.accounts.startTrial(
    poor,
    { startsAtMs: nowMs, endsAtMs: nowMs + 14 * day },
    audit('trial.start', 'a'),
  );
  await store.accounts.endSubscription(poor, nowMs + day, audit('plan.end', 'a'));
  const key = newKey('account', accountId, 'app');
  await store.keys.create(key, audit('key.create', key.id));
  await store.keys.create(newKey('admin', undefined, 'boss'), audit('key.create', 'k'));
  const old = newKey('account', poor, 'old');
  await store.keys.create({ ...old, expiresAtMs: nowMs + day }, audit('key.create', old.id));
  await store.keys.rotate(
    old.id,
    { expiresAtMs: nowMs },
    newKey('account', poor, 'new'),
    audit('key.rotate', old.id),
  );
  await store.keys.revoke(old.id, nowMs, audit('key.revoke', old.id));
  await store.ledger.enter(newEntry(accountId, 'load', 10_000_000_001n), audit('credits.load', accountId));
  await store.ledger.enter(
    newEntry(accountId, 'adjustment', -1_000_000_000n),
    audit('credits.adjustment', accountId),
  );
  await addRequests(store, { accountId, keyId: key.id });
}

const folder = mkdtempSync(join(tmpdir(), 'parley-schema-'));
try {
  const store = await openStore(folder);
  await fill(store);
  await addTo(store);
  await store.close();
  const name = Object.keys(migrations).at(-1) ?? '';
  const dump = execFileSync('sqlite3', [join(folder, 'parley.db'), '.dump'], { encoding: 'utf8' });
  writeFileSync(new URL(`./${name}.sql`, import.meta.url), dump);
} finally {
  rmSync(folder, { recursive: true });
}

/** Rows of later schemas. */
async function addTo(store: Store): Promise<void> {
  const cut = { recordsBeforeMs: startMs + 26, answersBeforeMs: 0 };
  await store.usage.prune(cut, 1_000, audit('usage.prune', 'usage'));
  const account = await store.accounts.find('acme ü');
  if (account) await addAlerts(store, account.id);
  await store.sessions.end({ owner: 'key_1', session: 'one', untilMs: nowMs + day }, nowMs);
}

async function addAlerts(store: Store, accountId: AccountId): Promise<void> {
  const settings = {
    destination: { kind: 'webhook', url: 'https://example.com/ü' } as const,
    sealedSecret: 'whsec_c2VjcmV0',
    percents: [50, 100],
    balanceBelow: nanoCredits(5_000_000_000n),
  };
  const address = 'ü@example.com';
  await store.alerts.setSettings(accountId, settings, audit('alerts.set', accountId), [address], undefined);
  const code = {
    codeHash: 'a'.repeat(64),
    sentAtMs: nowMs,
    expiresAtMs: nowMs + day,
    lastFailure: undefined,
  };
  await store.alerts.setCode(accountId, undefined, { address, ...code });
  for (const state of ['none', 'pending'] as const) {
    const createdAtMs = tick();
    const details = { percent: 50, used: '500', limit: '1000' };
    const alert = newAlert(accountId, 'fair_use.used', details, createdAtMs);
    const mark = { kind: alert.kind, subject: state, period: month, basis: '1000', threshold: 50 };
    await store.alerts.raise({ ...alert, state }, mark);
  }
}
