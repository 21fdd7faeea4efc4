/** Administration and account requests with unknown fields. They are refused, and change nothing. */
import type { DescMethodUnary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { AccountService } from '../../gen/parley/account/v1/account_service_pb.ts';
import { AdminService } from '../../gen/parley/admin/v1/admin_service_pb.ts';
import { AlertsService } from '../../gen/parley/alerts/v1/alerts_service_pb.ts';
import { ManagementService } from '../../gen/parley/management/v1/management_service_pb.ts';
import { type Case, type CaseRequest, calling, ended, ok, type Subject, type WireName } from './case.ts';
import { newNumber, withNewField } from './newer-schema.ts';

interface Misspelt {
  readonly method: DescMethodUnary;
  /** The message that has the field. */
  readonly message: string;
  readonly name: string;
  readonly request: (subject: Subject, name: string) => Record<string, unknown>;
  /** The place of the message in the request. */
  readonly at: string;
}

const inText = "its JSON has the field's name";
const inNumbers = "its messages have the field's number";
const onlyJson: Partial<Record<WireName, string>> = {
  'Connect binary': inNumbers,
  'gRPC-Web': inNumbers,
  gRPC: inNumbers,
};
const onlyBinary: Partial<Record<WireName, string>> = {
  REST: inText,
  'REST over HTTP/2': inText,
  'Connect JSON': inText,
};

const limitsMessage = 'parley.account.v1.Limits';
const budgetsMessage = 'parley.account.v1.Budgets';
const { method: admin } = AdminService;
const { method: management } = ManagementService;

const byAdmin: readonly Misspelt[] = [
  {
    method: admin.setAccountLimits,
    message: limitsMessage,
    name: 'budget',
    at: 'limits',
    request: ({ accountName }, name) => ({ accountId: accountName, limits: { [name]: '1' } }),
  },
  {
    method: admin.setAccountLimits,
    message: budgetsMessage,
    name: 'daily',
    at: 'limits.budgets',
    request: ({ accountName }, name) => ({
      accountId: accountName,
      limits: { budgets: { day: '1', [name]: '1' } },
    }),
  },
  {
    method: admin.setKeyLimits,
    message: limitsMessage,
    name: 'requestsPerMinut',
    at: 'limits',
    request: ({ keyId }, name) => ({ keyId, limits: { [name]: '1' } }),
  },
  {
    method: admin.createKey,
    message: 'parley.management.v1.CreateKeyRequest',
    name: 'scope',
    at: '',
    request: ({ accountName }, name) => ({ accountId: accountName, name: 'a', [name]: 'chat' }),
  },
  {
    method: admin.setAlertSettings,
    message: 'parley.alerts.v1.AlertSettings',
    name: 'percent',
    at: 'settings',
    request: ({ accountName }, name) => ({ accountId: accountName, settings: { [name]: '1' } }),
  },
  {
    method: admin.listAccounts,
    message: 'parley.admin.v1.ListAccountsRequest',
    name: 'page_sise',
    at: '',
    request: (_, name) => ({ [name]: '1' }),
  },
];

const byHolder: readonly Misspelt[] = [
  {
    method: management.setKeyLimits,
    message: budgetsMessage,
    name: 'daily',
    at: 'limits.budgets',
    request: ({ keyId }, name) => ({ keyId, limits: { budgets: { [name]: '1' } } }),
  },
  {
    method: AlertsService.method.setAlertSettings,
    message: 'parley.alerts.v1.AlertSettings',
    name: 'percent',
    at: 'settings',
    request: (_, name) => ({ settings: { [name]: '1' } }),
  },
  {
    method: AccountService.method.listUsageRecords,
    message: 'parley.account.v1.ListUsageRecordsRequest',
    name: 'page_sise',
    at: '',
    request: (_, name) => ({ [name]: '1' }),
  },
];

function callOf({ method, message, name, request }: Misspelt): CaseRequest {
  return calling(withNewField(method, message, name), (subject) => request(subject, camelCase(name)));
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function casesOf(misspelt: Misspelt, rest: Pick<Case, 'caller' | 'records'>): Case[] {
  const { method, at, name } = misspelt;
  const request = callOf(misspelt);
  const refusal = (field: string | number, notOn: NonNullable<Case['notOn']>): Case => {
    const param = at === '' ? String(field) : `${at}.${field}`;
    const error = { code: 'invalid_parameter' as const, param };
    return { what: `${method.name} with \`${param}\``, server: 'builtin', request, error, notOn, ...rest };
  };
  return [refusal(name, onlyJson), refusal(newNumber, onlyBinary)];
}

const [budget] = byAdmin;
const limits = { requestsPerMinute: 7, budgets: { day: '2' } };
const kept = { requests_per_minute: 7, budgets: { day: '2' } };

/** Fields of a message of Google, which JSON represents as one text. */
const inTime: Misspelt = {
  method: admin.createKey,
  message: 'google.protobuf.Timestamp',
  name: 'zone',
  at: 'expires_at',
  request: ({ accountName }) => ({
    accountId: accountName,
    name: 'a',
    expiresAt: { ...timestampFromDate(new Date(Date.UTC(2100, 0, 1))), zone: 'UTC' },
  }),
};

export const unknownFieldCases: readonly Case[] = [
  ...byAdmin.flatMap((one) => casesOf(one, { caller: { key: 'admin' }, records: [] })),
  ...casesOf(inTime, { caller: { key: 'admin' }, records: [] }).slice(1),
  ...byHolder.flatMap((one) =>
    casesOf(one, { caller: { scopes: ['manage'] }, records: [ended('refused', 'invalid_parameter')] }),
  ),
  ...(budget === undefined ? [] : [budget]).map(
    (one): Case => ({
      what: 'admin: limits with an unknown field leave the old limits unchanged',
      server: 'builtin',
      caller: { key: 'admin' },
      before: [
        calling(admin.setAccountLimits, ({ accountName }) => ({ accountId: accountName, limits })),
        callOf(one),
      ],
      request: calling(admin.getAccount, ({ accountName }) => ({ accountId: accountName })),
      answer: [{ account: { limits: kept } }],
      records: [],
    }),
  ),
  {
    what: 'alert settings with an unknown field leave the old settings unchanged',
    server: 'builtin',
    caller: { scopes: ['manage'] },
    before: [
      calling(AlertsService.method.setAlertSettings, { settings: { percents: [70] } }),
      ...byHolder.slice(1, 2).map(callOf),
    ],
    request: calling(AlertsService.method.getAlertSettings, {}),
    answer: [{ settings: { percents: [70] } }],
    records: [ok(), ended('refused', 'invalid_parameter'), ok()],
  },
];
