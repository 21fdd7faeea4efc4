/** Settings of alerts and the list of alerts, by a key of the account and by administrators. */
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf';
import { AdminService } from '../../gen/parley/admin/v1/admin_service_pb.ts';
import { AlertsService } from '../../gen/parley/alerts/v1/alerts_service_pb.ts';
import { type Case, type CaseRequest, calling, ended, ok, type Subject } from './case.ts';

const { method } = AlertsService;
const admin = AdminService.method;
const scopes = ['manage'];
const record = ok({ operation: 'manage' });
/** A name that never has a public address. */
const webhookUrl = 'https://localhost/alerts?a=1#here';
const room = { homeserverUrl: 'https://localhost/', roomId: '!a:localhost' };
const heard = { webhookUrl, percents: [90, 50, 50], balanceBelow: '2.50' };
const told = { webhook_url: 'https://localhost/alerts?a=1', percents: [50, 90], balance_below: '2.5' };

function managed(what: string, request: CaseRequest, rest: Partial<Case> = {}): Case {
  const records = [record];
  return { what: `alerts: ${what}`, server: 'builtin', caller: { scopes }, request, records, ...rest };
}

function refused(what: string, param: string, settings: MessageInitShape<DescMessage>): Case {
  return managed(`invalid_parameter: ${what}`, calling(method.setAlertSettings, { settings }), {
    error: { code: 'invalid_parameter', param: param === '' ? 'settings' : `settings.${param}` },
    records: [ended('refused', 'invalid_parameter', { operation: 'manage' })],
  });
}

const set = calling(method.setAlertSettings, { settings: heard });

/** Calls of a holder that name an account. */
const aboutAccount = (of: (subject: Subject) => { accountId: string }): readonly CaseRequest[] => [
  calling(method.getAlertSettings, of),
  calling(method.setAlertSettings, (subject) => ({ ...of(subject), settings: heard })),
  calling(method.listAlerts, of),
  calling(method.sendTestAlert, of),
];

const byHolder: readonly Case[] = [
  managed('there are no settings', calling(method.getAlertSettings, {}), { answer: [{}] }),
  managed('they are set, and the secret is shown', set, { answer: [{ settings: told, secret: '<chance>' }] }),
  managed('the secret is not shown again', set, {
    before: [set],
    records: [record, record],
    answer: [{ settings: told }],
  }),
  managed('they are read', calling(method.getAlertSettings, {}), {
    before: [set],
    records: [record, record],
    answer: [{ settings: told }],
  }),
  managed('they have defaults', calling(method.setAlertSettings, { settings: {} }), {
    answer: [{ settings: { percents: [50, 80, 100] } }],
  }),
  managed('they are removed', calling(method.setAlertSettings, {}), {
    before: [set],
    records: [record, record],
    answer: [{}],
  }),
  managed('the list is empty', calling(method.listAlerts, {}), { answer: [{}] }),
  ...aboutAccount(({ accountName }) => ({ accountId: accountName })).map((request) =>
    managed(`${request.method.name} by a key that names its own account`, request, {
      before: [set],
      records: [record, record],
    }),
  ),
  ...aboutAccount(() => ({ accountId: 'acc_none' })).map((request) =>
    managed(`not_found: ${request.method.name} by a key of another account`, request, {
      error: { code: 'not_found', param: 'account_id' },
      records: [ended('refused', 'not_found', { operation: 'manage' })],
    }),
  ),
  managed('a test tells why it failed', calling(method.sendTestAlert, {}), {
    before: [set],
    records: [record, record],
    answer: [
      {
        alert: {
          type: 'test',
          delivery: {
            state: 'failed',
            attempts: 1,
            last_failure: 'The name of the webhook has no public address.',
          },
        },
      },
    ],
  }),
  managed('invalid_parameter: a test without a destination', calling(method.sendTestAlert, {}), {
    error: { code: 'invalid_parameter', param: 'settings.webhook_url' },
    records: [ended('refused', 'invalid_parameter', { operation: 'manage' })],
  }),
  managed('invalid_parameter: a code that nobody got', calling(method.confirmMailAddress, { code: '0' }), {
    error: { code: 'invalid_parameter', param: 'code' },
    records: [ended('refused', 'invalid_parameter', { operation: 'manage' })],
  }),
  managed(
    'invalid_parameter: a code for an address that does not wait',
    calling(method.sendMailConfirmation, { address: 'ops@example.com' }),
    {
      error: { code: 'invalid_parameter', param: 'address' },
      records: [ended('refused', 'invalid_parameter', { operation: 'manage' })],
    },
  ),
  managed(
    'Slack is set',
    calling(method.setAlertSettings, { settings: { slackUrl: 'https://localhost/services/secret' } }),
    { answer: [{ settings: { slack_url: 'https://localhost/services/secret', percents: [50, 80, 100] } }] },
  ),
  managed(
    'a room of Matrix is set, and its token is not shown',
    calling(method.setAlertSettings, { settings: { matrix: { ...room, accessToken: 'a' } } }),
    {
      answer: [
        {
          settings: {
            matrix: { homeserver_url: 'https://localhost', room_id: '!a:localhost' },
            percents: [50, 80, 100],
          },
        },
      ],
    },
  ),
  refused('two destinations', '', { webhookUrl, slackUrl: webhookUrl }),
  refused('mail without a mail server', 'mail_addresses', { mailAddresses: ['ops@example.com'] }),
  refused('Slack at a private address', 'slack_url', { slackUrl: 'https://10.0.0.1/' }),
  refused('a room without a token', 'matrix.access_token', { matrix: room }),
  refused('a homeserver at a private address', 'matrix.homeserver_url', {
    matrix: { ...room, homeserverUrl: 'https://10.0.0.1/' },
  }),
  refused('a name of a room', 'matrix.room_id', { matrix: { ...room, roomId: '#a:localhost' } }),
  refused('a percent above 100', 'percents', { percents: [101] }),
  refused('a balance of nothing', 'balance_below', { balanceBelow: '0' }),
  refused('a balance that is no amount', 'balance_below', { balanceBelow: 'much' }),
  refused('plain HTTP', 'webhook_url', { webhookUrl: 'http://example.com/' }),
  refused('a password', 'webhook_url', { webhookUrl: 'https://a:b@example.com/' }),
  refused('a private address', 'webhook_url', { webhookUrl: 'https://[::ffff:10.0.0.1]/' }),
  refused('no URL', 'webhook_url', { webhookUrl: 'example.com' }),
  refused('a long URL', 'webhook_url', { webhookUrl: `https://example.com/${'a'.repeat(2_000)}` }),
  {
    ...managed('insufficient_scope: a key without the scope', calling(method.getAlertSettings, {})),
    caller: { scopes: ['chat'] },
    error: { code: 'insufficient_scope' },
    records: [ended('refused', 'insufficient_scope', { operation: 'manage' })],
  },
];

function byAdmin(what: string, request: CaseRequest, rest: Partial<Case> = {}): Case {
  return {
    what: `admin: alerts: ${what}`,
    server: 'builtin',
    caller: { key: 'admin' },
    request,
    records: [],
    ...rest,
  };
}

const byAdministrator: readonly Case[] = [
  byAdmin(
    'settings are set',
    calling(admin.setAlertSettings, ({ accountName: accountId }) => ({ accountId, settings: heard })),
    { answer: [{ settings: told, secret: '<chance>' }] },
  ),
  byAdmin(
    'there are no settings',
    calling(admin.getAlertSettings, ({ accountName: accountId }) => ({ accountId })),
    { answer: [{}] },
  ),
  byAdmin(
    'the list of an account',
    calling(admin.listAlerts, ({ accountName: accountId }) => ({ accountId, pageSize: 1 })),
    { answer: [{}] },
  ),
  byAdmin(
    'invalid_parameter: a test without a destination',
    calling(admin.sendTestAlert, ({ accountName: accountId }) => ({ accountId })),
    { error: { code: 'invalid_parameter', param: 'settings.webhook_url' } },
  ),
  byAdmin(
    'invalid_parameter: a code that nobody got',
    calling(admin.confirmMailAddress, ({ accountName: accountId }) => ({ accountId, code: '0' })),
    { error: { code: 'invalid_parameter', param: 'code' } },
  ),
  byAdmin(
    'invalid_parameter: a code for an address that does not wait',
    calling(admin.sendMailConfirmation, ({ accountName: accountId }) => ({ accountId, address: 'a@b.c' })),
    { error: { code: 'invalid_parameter', param: 'address' } },
  ),
  byAdmin('not_found: an account that there is not', calling(admin.listAlerts, { accountId: 'acc_none' }), {
    error: { code: 'not_found', param: 'account_id' },
  }),
];

export const alertCases: readonly Case[] = [...byHolder, ...byAdministrator];
