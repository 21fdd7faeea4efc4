/** Calls of administrators. They leave no usage record. */
import { timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { AdminService } from '../../gen/parley/admin/v1/admin_service_pb.ts';
import { totalDimensions } from '../../src/core/entities/usage.ts';
import type { ErrorCode } from '../../src/core/values/errors.ts';
import { type Case, type CaseRequest, calling, type Subject } from './case.ts';

const admin = AdminService.method;
const monthsAgo = timestampFromDate(new Date(Date.UTC(2020, 0, 1)));

type ForAccount = (subject: Subject) => { accountId: string };
const ofAccount: ForAccount = ({ accountName }) => ({ accountId: accountName });

function byAdmin(what: string, request: CaseRequest, rest: Partial<Case> = {}): Case {
  return { what, server: 'builtin', caller: { key: 'admin' }, request, records: [], ...rest };
}

function adminRefused(
  what: string,
  request: CaseRequest,
  code: ErrorCode,
  param: string,
  rest?: Partial<Case>,
): Case {
  return byAdmin(`${code}: ${what}`, request, { error: { code, param }, ...rest });
}

const load = (amount: string, idempotencyKey: string) =>
  calling(admin.loadCredits, (subject) => ({
    ...ofAccount(subject),
    amount,
    idempotencyKey,
    reason: 'a — “gift” 🎉',
  }));
const adjust = (amount: string) =>
  calling(admin.adjustCredits, (subject) => ({
    ...ofAccount(subject),
    amount,
    idempotencyKey: 'k',
    reason: 'r',
  }));
const thisMonth = new Date().toISOString().slice(0, 7);
const inTheFuture = timestampFromDate(new Date(Date.UTC(2100, 0, 1)));

const accountsByAdmin: Case[] = [
  byAdmin(
    'admin: an account is made',
    calling(admin.createAccount, ({ accountName }) => ({ name: `${accountName} ü` })),
    { answer: [{ account: { subscription: { state: 'none' }, balance: '0' } }] },
  ),
  adminRefused(
    'an account of a name that is taken',
    calling(admin.createAccount, ({ accountName }) => ({ name: accountName })),
    'invalid_parameter',
    'name',
  ),
  adminRefused('an account without a name', calling(admin.createAccount, {}), 'invalid_parameter', 'name'),
  byAdmin('admin: an account is looked up', calling(admin.getAccount, ofAccount)),
  adminRefused(
    'an account that there is not',
    calling(admin.getAccount, { accountId: 'nobody/at all' }),
    'not_found',
    'account_id',
  ),
  byAdmin(
    'admin: the first account',
    calling(admin.listAccounts, ({ accountName }) => ({ nameContains: accountName, pageSize: 1 })),
  ),
  adminRefused(
    'a page that is too large',
    calling(admin.listAccounts, { pageSize: 1001 }),
    'invalid_parameter',
    'page_size',
  ),
  byAdmin(
    'admin: accounts by a part of their name',
    calling(admin.listAccounts, ({ accountName }) => ({ nameContains: accountName.toUpperCase() })),
    { answer: [{ accounts: [{ balance: '10' }] }] },
  ),
  byAdmin('admin: no account has such a name', calling(admin.listAccounts, { nameContains: '%' })),
  byAdmin(
    'admin: accounts in a state, by credits',
    calling(admin.listAccounts, ({ accountName }) => ({
      nameContains: accountName,
      state: 'trial',
      orderBy: 'credits',
    })),
    { answer: [{ totals: { accounts: '1', balance: '10' } }] },
  ),
  adminRefused(
    'accounts in an unknown state',
    calling(admin.listAccounts, { state: 'tired' }),
    'invalid_parameter',
    'state',
  ),
  adminRefused(
    'accounts in an unknown order',
    calling(admin.listAccounts, { orderBy: 'size' }),
    'invalid_parameter',
    'order_by',
  ),
  adminRefused(
    'accounts by a blank name',
    calling(admin.listAccounts, { nameContains: ' ' }),
    'invalid_parameter',
    'name_contains',
  ),
  adminRefused('a second trial', calling(admin.startTrial, ofAccount), 'invalid_parameter', 'account_id'),
  byAdmin('admin: a trial is started', calling(admin.startTrial, ofAccount), {
    caller: { key: 'admin', trial: false },
  }),
  byAdmin(
    'admin: a plan is opened',
    calling(admin.activatePlan, (subject) => ({ ...ofAccount(subject), endsAt: inTheFuture })),
    { answer: [{ account: { subscription: { state: 'active' } } }] },
  ),
  adminRefused(
    'a plan that has ended',
    calling(admin.activatePlan, (subject) => ({ ...ofAccount(subject), endsAt: monthsAgo })),
    'invalid_parameter',
    'ends_at',
  ),
  byAdmin('admin: a trial is ended', calling(admin.endPlan, ofAccount), {
    answer: [{ account: { subscription: { state: 'ended' } } }],
  }),
];

const livesByAdmin: Case[] = [
  byAdmin(
    'admin: an account is renamed',
    calling(admin.renameAccount, ({ accountName }) => ({
      accountId: accountName,
      name: `${accountName} renamed`,
    })),
  ),
  adminRefused(
    'an account is renamed to nothing',
    calling(admin.renameAccount, (subject) => ({ ...ofAccount(subject), name: ' ' })),
    'invalid_parameter',
    'name',
  ),
  byAdmin('admin: an account is suspended', calling(admin.suspendAccount, ofAccount), {
    answer: [{ account: { suspended_at: '<chance>' } }],
  }),
  byAdmin('admin: an account is resumed', calling(admin.resumeAccount, ofAccount), {
    before: [calling(admin.suspendAccount, ofAccount)],
  }),
  byAdmin('admin: an account is deleted', calling(admin.deleteAccount, ofAccount), {
    answer: [{ account: { deleted_at: '<chance>' } }],
  }),
];

const moneyByAdmin: Case[] = [
  byAdmin('admin: credits are loaded', load('2.5', 'k'), { answer: [{ account: { balance: '12.5' } }] }),
  byAdmin('admin: credits are loaded once', load('2.5', 'k'), {
    before: [load('2.5', 'k')],
    answer: [{ account: { balance: '12.5' } }],
  }),
  adminRefused(
    'other credits under the same key',
    load('3', 'k'),
    'idempotency_conflict',
    'idempotency_key',
    { before: [load('2.5', 'k')] },
  ),
  adminRefused('less than nothing', load('-1', 'k'), 'invalid_parameter', 'amount'),
  adminRefused('an amount in words', load('ten', 'k'), 'invalid_parameter', 'amount'),
  byAdmin('admin: credits are taken', adjust('-0.000000001'), {
    answer: [{ account: { balance: '9.999999999' } }],
  }),
  adminRefused('more than there is', adjust('-10.000000001'), 'insufficient_credits', 'amount'),
  byAdmin('admin: the ledger', calling(admin.listLedgerEntries, ofAccount), {
    answer: [{ entries: [{ kind: 'load', amount: '10' }] }],
  }),
  byAdmin(
    'admin: a statement',
    calling(admin.getStatement, (subject) => ({ ...ofAccount(subject), month: thisMonth })),
    { answer: [{ statement: { opening: '0', closing: '10', lines: [{ kind: 'load', entries: '1' }] } }] },
  ),
  adminRefused(
    'a statement of no month',
    calling(admin.getStatement, (subject) => ({ ...ofAccount(subject), month: '2026-13' })),
    'invalid_parameter',
    'month',
  ),
];

const keysByAdmin: Case[] = [
  byAdmin(
    'admin: a key is made',
    calling(admin.createKey, (subject) => ({
      ...ofAccount(subject),
      name: 'a',
      scopes: ['chat'],
      expiresAt: inTheFuture,
    })),
    { answer: [{ key: { prefix: 'pk_', scopes: ['chat'] } }] },
  ),
  adminRefused(
    'a key for what there is not',
    calling(admin.createKey, (subject) => ({ ...ofAccount(subject), name: 'a', scopes: ['video'] })),
    'invalid_parameter',
    'scopes',
  ),
  byAdmin(
    'admin: a key is limited',
    calling(admin.setKeyLimits, ({ keyId }) => ({
      keyId,
      limits: { models: ['gpt-*'], requestsPerMinute: 60, budgets: { month: '2.5' } },
    })),
    {
      answer: [
        {
          key: {
            limits: { models: ['gpt-*'], requests_per_minute: 60, budgets: { month: '2.5' } },
            limit_counts: [{ name: 'budgets.month', used: '0', limit: '2.5' }],
          },
        },
      ],
    },
  ),
  byAdmin(
    'admin: a key loses its limits',
    calling(admin.setKeyLimits, ({ keyId }) => ({ keyId })),
  ),
  adminRefused(
    'a network that is none',
    calling(admin.setKeyLimits, ({ keyId }) => ({ keyId, limits: { addresses: ['10.0.0.0/33'] } })),
    'invalid_parameter',
    'limits.addresses',
  ),
  adminRefused(
    'a budget below zero',
    calling(admin.setAccountLimits, (subject) => ({
      ...ofAccount(subject),
      limits: { budgets: { day: '-1' } },
    })),
    'invalid_parameter',
    'limits.budgets.day',
  ),
  byAdmin(
    'admin: an account is limited',
    calling(admin.setAccountLimits, (subject) => ({
      ...ofAccount(subject),
      limits: { audioSecondsPerDay: 3600 },
    })),
    { answer: [{ account: { limits: { audio_seconds_per_day: 3600 } } }] },
  ),
  byAdmin('admin: the keys of an account', calling(admin.listKeys, ofAccount)),
  adminRefused(
    'a page of keys by another token',
    calling(admin.listKeys, (subject) => ({ ...ofAccount(subject), pageToken: 'a' })),
    'invalid_parameter',
    'page_token',
  ),
  byAdmin(
    'admin: a key is rotated',
    calling(admin.rotateKey, ({ keyId }) => ({ keyId, overlapSeconds: 60 })),
  ),
  byAdmin(
    'admin: a key is revoked',
    calling(admin.revokeKey, ({ keyId }) => ({ keyId })),
    { answer: [{ key: { revoked_at: '<chance>' } }] },
  ),
  adminRefused(
    'a key that is revoked is not rotated',
    calling(admin.rotateKey, ({ keyId }) => ({ keyId })),
    'invalid_parameter',
    'key_id',
    { before: [calling(admin.revokeKey, ({ keyId }) => ({ keyId }))] },
  ),
  byAdmin('admin: an admin key is made', calling(admin.createAdminKey, { name: 'a' }), {
    answer: [{ key: { prefix: 'pa_' } }],
  }),
  byAdmin(
    'admin: an operator is invited',
    calling(admin.createInvitation, { name: 'a', consoleUrl: 'https://parley.example.com' }),
    { answer: [{ key: { prefix: 'pi_', invitation: true } }] },
  ),
  byAdmin('admin: the admin keys', calling(admin.listAdminKeys, {}), {
    // Other cases make some at the same time.
    compare: (answer) => JSON.stringify(answer).includes('"prefix":"pa_"'),
  }),
  byAdmin('admin: the usage records of an account', calling(admin.listUsageRecords, ofAccount)),
  byAdmin('admin: the audit trail', calling(admin.listAuditEntries, { pageSize: 1 }), {
    compare: (answer) => Object.keys((answer as [{ entries: [object] }])[0].entries[0]),
  }),
];

const usageByAdmin: Case[] = [
  byAdmin('admin: the usage of an account that has none', calling(admin.getUsageTotals, ofAccount)),
  byAdmin(
    'admin: the key with the highest cost',
    calling(admin.getUsageTotals, ({ accountName }) => ({
      accountId: accountName,
      groupBy: ['key'],
      top: 1,
      topBy: 'cost',
    })),
  ),
  adminRefused(
    'the largest of what is not grouped',
    calling(admin.getUsageTotals, { groupBy: ['model'], top: 3 }),
    'invalid_parameter',
    'top',
  ),
  adminRefused(
    'the largest accounts and keys at once',
    calling(admin.getUsageTotals, { groupBy: ['account', 'key'], top: 3 }),
    'invalid_parameter',
    'top',
  ),
  adminRefused(
    'too many of the largest',
    calling(admin.getUsageTotals, { groupBy: ['key'], top: 101 }),
    'invalid_parameter',
    'top',
  ),
  adminRefused(
    'the largest by an unknown measure',
    calling(admin.getUsageTotals, { groupBy: ['key'], top: 1, topBy: 'length' }),
    'invalid_parameter',
    'top_by',
  ),
  byAdmin(
    'admin: all usage of long ago, by everything',
    calling(admin.getUsageTotals, {
      startTime: timestampFromMs(Date.UTC(2019, 11, 30)),
      endTime: monthsAgo,
      groupBy: [...totalDimensions],
    }),
  ),
  byAdmin(
    'admin: the names of accounts and keys that there are not',
    calling(admin.listNames, { accountIds: ['acc_0'], keyIds: ['key_0', 'it\'s "quoted"'] }),
  ),
  adminRefused(
    'too many names',
    calling(admin.listNames, { keyIds: Array.from({ length: 101 }, (_, index) => `key_${index}`) }),
    'invalid_parameter',
    'key_ids',
  ),
  adminRefused(
    'totals by the hours of all time',
    calling(admin.getUsageTotals, { endTime: monthsAgo, groupBy: ['hour'] }),
    'invalid_parameter',
    'group_by',
  ),
  adminRefused(
    'totals by what there is not',
    calling(admin.getUsageTotals, { groupBy: ['month', 'weather'] }),
    'invalid_parameter',
    'group_by',
  ),
  adminRefused(
    'totals of a part of a day',
    calling(admin.getUsageTotals, { startTime: timestampFromMs(1) }),
    'invalid_parameter',
    'start_time',
  ),
  byAdmin('admin: nothing is old enough', calling(admin.pruneUsageRecords, { before: monthsAgo }), {
    answer: [{ complete: true }],
  }),
  adminRefused(
    'records are removed before a time only',
    calling(admin.pruneUsageRecords, {}),
    'invalid_parameter',
    'before',
  ),
  adminRefused(
    'what is to come cannot be removed',
    calling(admin.pruneUsageRecords, { before: inTheFuture, dryRun: true }),
    'invalid_parameter',
    'before',
  ),
];

const serverByAdmin: Case[] = [
  byAdmin('admin: the state of the server', calling(admin.getServerState, {}), {
    isOfServer: true,
    compare: (answer) => {
      const [{ engines = [], models, settings }] = answer as [
        Record<string, { name: string; id: string; requests?: object }[]>,
      ];
      // The requests of other cases differ.
      const states = engines.map(({ requests, ...engine }) => ({
        ...engine,
        has: Object.keys(requests ?? {}).includes('running'),
      }));
      const names = settings?.map(({ name }) => name);
      return [states, models, names?.includes('server.port')];
    },
  }),
  byAdmin('admin: the servers of a shared database', calling(admin.listNodes, {}), {
    isOfServer: true,
    compare: (answer) =>
      (answer as [{ nodes?: { state: string }[] }])[0].nodes?.map(({ state }) => state) ?? [],
  }),
  adminRefused(
    'an engine that is no program is loaded',
    calling(admin.loadEngine, { name: 'builtin' }),
    'not_found',
    'name',
    { isOfServer: true },
  ),
  adminRefused(
    'an engine that there is not is unloaded',
    calling(admin.unloadEngine, { name: 'local/tiny' }),
    'not_found',
    'name',
    { isOfServer: true },
  ),
  byAdmin(
    'admin: the findings about a server that there is not',
    calling(admin.checkEngine, {
      kind: 'openai',
      url: 'http://127.0.0.1:9/v1',
      models: [{ name: 'small', type: 'chat' }],
    }),
    { isOfServer: true },
  ),
  adminRefused(
    'an engine of a kind that has no server',
    calling(admin.checkEngine, { kind: 'process', url: 'http://127.0.0.1:9/v1' }),
    'invalid_parameter',
    'kind',
    { isOfServer: true },
  ),
  adminRefused(
    'an engine at what is no URL',
    calling(admin.checkEngine, { kind: 'openai', url: 'file:///etc/passwd' }),
    'invalid_parameter',
    'url',
    { isOfServer: true },
  ),
  adminRefused(
    'an engine with a model of no type',
    calling(admin.checkEngine, { kind: 'openai', url: 'http://127.0.0.1:9/v1', models: [{ name: 'small' }] }),
    'invalid_parameter',
    'models.type',
    { isOfServer: true },
  ),
  byAdmin('admin: the engines and models of parley.yaml', calling(admin.getConfiguration, {}), {
    isOfServer: true,
  }),
  adminRefused('no change', calling(admin.changeConfiguration, {}), 'invalid_parameter', 'edits', {
    isOfServer: true,
  }),
  byAdmin(
    'invalid_parameter: a change where no file was read',
    calling(admin.undoConfigurationChange, { version: 'old' }),
    { error: { code: 'invalid_parameter' }, isOfServer: true },
  ),
  byAdmin('admin: the findings about it', calling(admin.diagnoseServer, {}), {
    isOfServer: true,
    compare: (answer) => {
      const [{ diagnostics }] = answer as [{ diagnostics: { area: string; subject: string }[] }];
      // On a busy machine the check of an engine may reach its time limit, and says that instead of all else.
      const isTimed = (area: string) => area.startsWith('engine ');
      return [
        ...new Set(diagnostics.map(({ area, subject }) => (isTimed(area) ? area : `${area}: ${subject}`))),
      ];
    },
  }),
];

export const adminCases: readonly Case[] = [
  ...serverByAdmin,
  ...accountsByAdmin,
  ...livesByAdmin,
  ...moneyByAdmin,
  ...keysByAdmin,
  ...usageByAdmin,
];
