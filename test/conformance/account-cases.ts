/** The catalog, the account and the admin calls, and who may make them. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { AccountService } from '../../gen/parley/account/v1/account_service_pb.ts';
import { AdminService } from '../../gen/parley/admin/v1/admin_service_pb.ts';
import { CatalogService } from '../../gen/parley/catalog/v1/catalog_service_pb.ts';
import type { ErrorCode } from '../../src/core/errors.ts';
import { type Case, type CaseRequest, calling, ended, ok, type Subject } from './case.ts';

const { listModels, getModel } = CatalogService.method;
const { getAccount, listUsageRecords } = AccountService.method;
const admin = AdminService.method;

const looked = (operation: 'catalog' | 'account') => [ok({ operation })];

const catalog: Case[] = [
  { what: 'the catalog', request: calling(listModels, {}), records: looked('catalog') },
  {
    what: 'the catalog, by a client that gives more time than the server takes',
    timeoutMs: 3_600_000,
    request: calling(listModels, {}),
    records: looked('catalog'),
  },
  {
    what: 'the catalog’s speech models, with their voices',
    request: calling(listModels, { type: 'speech' }),
    answer: [{ object: 'list', data: [{ id: 'flite', type: 'speech', defaultVoice: expectText() }] }],
    records: looked('catalog'),
  },
  {
    what: 'the catalog’s models of a type that there is not',
    request: calling(listModels, { type: 'video' }),
    answer: [{ object: 'list' }],
    records: looked('catalog'),
  },
  {
    what: 'the catalog without a plan',
    caller: { trial: false },
    request: calling(listModels, {}),
    answer: [{ data: [{ id: 'eliza' }] }],
    records: looked('catalog'),
  },
  {
    what: 'the catalog by a key for nothing but transcription',
    caller: { scopes: ['speech'], trial: true },
    request: calling(listModels, {}),
    answer: [{ data: [{ id: 'flite' }] }],
    records: looked('catalog'),
  },
  { what: 'one model', request: calling(getModel, { id: 'eliza' }), records: looked('catalog') },
  refused('catalog', 'a model that there is not', calling(getModel, { id: 'a/b c%2F' }), 'not_found', 'id'),
  {
    ...refused(
      'catalog',
      'a model without the plan for it',
      calling(getModel, { id: 'flite' }),
      'not_found',
      'id',
    ),
    caller: { trial: false },
  },
].map(onBuiltin);

function expectText(): unknown {
  return { asymmetricMatch: (text: unknown) => typeof text === 'string', toString: () => 'a text' };
}

function onBuiltin(row: Omit<Case, 'server'>): Case {
  return { server: 'builtin', ...row };
}

function refused(
  operation: 'catalog' | 'account',
  what: string,
  request: CaseRequest,
  code: ErrorCode,
  param: string,
): Omit<Case, 'server'> {
  return {
    what: `${code}: ${what}`,
    request,
    error: { code, param },
    records: [ended('refused', code, { operation })],
  };
}

const monthsAgo = timestampFromDate(new Date(Date.UTC(2020, 0, 1)));

const account: Case[] = [
  {
    what: 'the account',
    request: calling(getAccount, {}),
    answer: [
      {
        account: {
          subscription: { state: 'trial' },
          balance: '10',
          balance_nano_credits: '10000000000',
          fair_use: { limit_units: '300000' },
        },
      },
    ],
    records: looked('account'),
  },
  {
    what: 'the account without plan and credits',
    caller: { trial: false, credits: '0' },
    request: calling(getAccount, {}),
    answer: [{ account: { subscription: { state: 'none' }, balance: '0' } }],
    records: looked('account'),
  },
  {
    what: 'the usage records, newest first',
    before: [calling(listModels, {}), calling(getModel, { id: 'x' }), calling(getAccount, {})],
    request: calling(listUsageRecords, {}),
    answer: [
      {
        records: [
          { operation: 'account', state: 'ok' },
          { operation: 'catalog', state: 'refused', code: 'not_found' },
          { operation: 'catalog', state: 'ok' },
        ],
      },
    ],
    records: [ok(), ended('refused', 'not_found'), ok(), ok()],
  },
  {
    what: 'a page of the usage records',
    before: [calling(listModels, {}), calling(listModels, {})],
    request: calling(listUsageRecords, {
      pageSize: 1,
      operation: 'catalog',
      state: 'ok',
      startTime: monthsAgo,
    }),
    answer: [{ next_page_token: '<chance>' }],
    records: [ok(), ok(), ok()],
  },
  {
    what: 'the usage records of long ago',
    before: [calling(listModels, {})],
    request: calling(listUsageRecords, { endTime: monthsAgo }),
    answer: [{}],
    records: [ok(), ok()],
  },
  refused(
    'account',
    'a page of nothing',
    calling(listUsageRecords, { pageSize: 0 }),
    'invalid_parameter',
    'page_size',
  ),
  refused(
    'account',
    'a page that there never was',
    calling(listUsageRecords, { pageToken: 'x' }),
    'invalid_parameter',
    'page_token',
  ),
  refused(
    'account',
    'records of an operation that there is not',
    calling(listUsageRecords, { operation: 'video' }),
    'invalid_parameter',
    'operation',
  ),
].map(onBuiltin);

const keys: Case[] = [
  ...(['none', 'unknown'] as const).flatMap((key) =>
    [calling(listModels, {}), calling(admin.listAccounts, {})].map((request) => ({
      what: `invalid_api_key: ${request.method.name} with ${key === 'none' ? 'no key' : 'a key that there is not'}`,
      caller: { key },
      request,
      error: { code: 'invalid_api_key' as const },
      records: [],
    })),
  ),
  {
    what: 'insufficient_scope: an admin call with an account’s key',
    request: calling(admin.listAccounts, {}),
    error: { code: 'insufficient_scope' as const },
    records: [],
  },
  {
    what: 'insufficient_scope: an account’s call with an admin key',
    caller: { key: 'admin' as const },
    request: calling(getAccount, {}),
    error: { code: 'insufficient_scope' as const },
    records: [],
  },
].map(onBuiltin);

type ForAccount = (subject: Subject) => { accountId: string };
const ofAccount: ForAccount = ({ accountName }) => ({ accountId: accountName });

/** An admin call leaves no usage record. */
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
const inTheFuture = timestampFromDate(new Date(Date.UTC(2100, 0, 1)));

const accountsByAdmin: Case[] = [
  byAdmin(
    'admin: an account is made',
    calling(admin.createAccount, ({ accountName }) => ({ name: `${accountName} ü` })),
    {
      answer: [{ account: { subscription: { state: 'none' }, balance: '0' } }],
    },
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
  byAdmin('admin: the first account', calling(admin.listAccounts, { pageSize: 1 })),
  adminRefused(
    'a page that is too large',
    calling(admin.listAccounts, { pageSize: 1001 }),
    'invalid_parameter',
    'page_size',
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
    {
      before: [load('2.5', 'k')],
    },
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
  byAdmin('admin: the keys of an account', calling(admin.listKeys, ofAccount)),
  byAdmin(
    'admin: a key is rotated',
    calling(admin.rotateKey, ({ keyId }) => ({ keyId, overlapSeconds: 60 })),
  ),
  byAdmin(
    'admin: a key is revoked',
    calling(admin.revokeKey, ({ keyId }) => ({ keyId })),
    {
      answer: [{ key: { revoked_at: '<chance>' } }],
    },
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
  byAdmin('admin: the admin keys', calling(admin.listAdminKeys, {}), {
    // Others of the table make some at the same time.
    compare: (answer) => JSON.stringify(answer).includes('"prefix":"pa_"'),
  }),
  byAdmin('admin: the usage records of an account', calling(admin.listUsageRecords, ofAccount)),
  byAdmin('admin: the audit trail', calling(admin.listAuditEntries, { pageSize: 1 }), {
    compare: (answer) => Object.keys((answer as [{ entries: [object] }])[0].entries[0]),
  }),
];

export const accountCases: readonly Case[] = [
  ...catalog,
  ...account,
  ...keys,
  ...accountsByAdmin,
  ...moneyByAdmin,
  ...keysByAdmin,
];
