/** The catalog, the account, and the keys that may call them. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { AccountService } from '../../gen/parley/account/v1/account_service_pb.ts';
import { AdminService } from '../../gen/parley/admin/v1/admin_service_pb.ts';
import { CatalogService } from '../../gen/parley/catalog/v1/catalog_service_pb.ts';
import type { ErrorCode } from '../../src/core/values/errors.ts';
import { type Case, type CaseRequest, calling, ended, ok, type Subject } from './case.ts';

const { listModels, getModel, listSpeechModels, listVoices } = CatalogService.method;
const { getAccount, listUsageRecords, getUsageTotals, listLedgerEntries, getStatement } =
  AccountService.method;
const admin = AdminService.method;

const looked = (operation: 'catalog' | 'account') => [ok({ operation })];

const voices: readonly (readonly [string, string])[] = [
  ['rms', 'en-US'],
  ['slt', 'en-US'],
  ['awb', 'en-GB'],
  ['kal16', 'en-US'],
  ['kal', 'en-US'],
];
const voiceList = { voices: voices.map(([id, language]) => ({ id, name: id, language, models: ['flite'] })) };

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
  refused(
    'catalog',
    'models of a type that there is not',
    calling(listModels, { type: 'video' }),
    'invalid_parameter',
    'type',
  ),
  {
    what: 'the catalog without a plan',
    caller: { trial: false },
    request: calling(listModels, {}),
    answer: [{ data: [{ id: 'eliza' }] }],
    records: looked('catalog'),
  },
  {
    what: 'the catalog by a key for transcription alone',
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
  {
    what: 'the speech models',
    request: calling(listSpeechModels, {}),
    answer: [{ models: [{ id: 'flite', type: 'speech', defaultVoice: expectText() }] }],
    records: looked('catalog'),
  },
  {
    what: 'the speech models without a plan',
    caller: { trial: false },
    request: calling(listSpeechModels, {}),
    answer: [expectNoMembers()],
    records: looked('catalog'),
  },
  { what: 'the voices', request: calling(listVoices, {}), answer: [voiceList], records: looked('catalog') },
  {
    what: 'the voices of one model',
    request: calling(listVoices, { model: 'flite' }),
    answer: [voiceList],
    records: looked('catalog'),
  },
  {
    what: 'the voices without a plan',
    caller: { trial: false },
    request: calling(listVoices, {}),
    answer: [expectNoMembers()],
    records: looked('catalog'),
  },
  refused(
    'catalog',
    'the voices of a model that does not speak',
    calling(listVoices, { model: 'eliza' }),
    'unknown_model',
    'model',
  ),
].map(onBuiltin);

function expectText(): unknown {
  return { asymmetricMatch: (text: unknown) => typeof text === 'string', toString: () => 'a text' };
}

/** An empty list has no member in a message. */
function expectNoMembers(): unknown {
  return {
    asymmetricMatch: (value: unknown) => Object.keys(value as object).length === 0,
    toString: () => 'nothing',
  };
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

const thisMonth = new Date().toISOString().slice(0, 7);

/** Calls of a holder that name an account. */
const aboutAccount = (
  what: string,
  of: (subject: Subject) => { accountId: string },
): { readonly what: string; readonly request: CaseRequest }[] => [
  { what: `the account, ${what}`, request: calling(getAccount, of) },
  { what: `the usage records, ${what}`, request: calling(listUsageRecords, of) },
  {
    what: `the totals of the usage, ${what}`,
    request: calling(getUsageTotals, (subject) => ({ ...of(subject), endTime: monthsAgo })),
  },
  { what: `the ledger, ${what}`, request: calling(listLedgerEntries, of) },
  {
    what: `a statement, ${what}`,
    request: calling(getStatement, (subject) => ({ ...of(subject), month: thisMonth })),
  },
];

const account: Case[] = [
  ...aboutAccount('by a key that names its own account', ({ accountName }) => ({
    accountId: accountName,
  })).map((row) => ({ ...row, records: looked('account') })),
  ...aboutAccount('by a key of another account', () => ({ accountId: 'acc_none' })).map(({ what, request }) =>
    refused('account', what, request, 'not_found', 'account_id'),
  ),
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
  {
    what: 'the record of one request, and no other',
    before: [calling(listModels, {})],
    request: calling(listUsageRecords, { id: `req_${'0'.repeat(32)}` }),
    answer: [{}],
    records: [ok(), ok()],
  },
  refused(
    'account',
    'the record of what is no request',
    calling(listUsageRecords, { id: 'req_0' }),
    'invalid_parameter',
    'id',
  ),
  {
    what: 'the totals of the usage, with those of requests that were refused',
    before: [calling(listModels, {}), calling(getModel, { id: 'x' })],
    request: calling(getUsageTotals, { groupBy: ['operation', 'state'] }),
    // Whether the request itself has a started record depends on its duration.
    compare: (answer: unknown) => {
      const [{ totals }] = answer as [{ totals: { state: string }[] }];
      return totals.filter(({ state }) => state !== 'started');
    },
    records: [ok(), ended('refused', 'not_found'), ok()],
  },
  refused(
    'account',
    'totals by account, which a holder has one of',
    calling(getUsageTotals, { groupBy: ['account'] }),
    'invalid_parameter',
    'group_by',
  ),
  {
    what: 'the ledger',
    request: calling(listLedgerEntries, {}),
    answer: [{ entries: [{ kind: 'load', amount: '10' }] }],
    records: looked('account'),
  },
  {
    what: 'a statement',
    request: calling(getStatement, { month: thisMonth }),
    answer: [{ statement: { opening: '0', closing: '10', lines: [{ kind: 'load', amount: '10' }] } }],
    records: looked('account'),
  },
  refused(
    'account',
    'a statement of a month to come',
    calling(getStatement, { month: '9999-12' }),
    'invalid_parameter',
    'month',
  ),
  refused(
    'account',
    'a page of the ledger that there never was',
    calling(listLedgerEntries, { pageToken: 'x' }),
    'invalid_parameter',
    'page_token',
  ),
].map(onBuiltin);

const keys: Case[] = [
  ...(['none', 'unknown'] as const).flatMap((key) =>
    [calling(listModels, {}), calling(admin.listAccounts, {})].map((request) => ({
      what: `invalid_api_key: ${request.method.name} with ${key === 'none' ? 'no key' : 'an unknown key'}`,
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
    records: [ended('refused', 'insufficient_scope', { operation: 'admin' })],
  },
  {
    what: 'insufficient_scope: an account’s call with an admin key',
    caller: { key: 'admin' as const },
    request: calling(getAccount, {}),
    error: { code: 'insufficient_scope' as const },
    records: [],
  },
].map(onBuiltin);

export const accountCases: readonly Case[] = [...catalog, ...account, ...keys];
