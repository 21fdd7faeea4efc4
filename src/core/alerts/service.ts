/** The alerts of an account, set and seen by its own keys with the scope `manage` and by administrators. */
import { isDeepStrictEqual } from 'node:util';
import type * as pb from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import {
  type AccountOfCallDeps,
  type AccountRequest,
  accountToChange,
  audit,
} from '../access/account-of-call.ts';
import type { AnyCall } from '../access/call.ts';
import type { SecretSeal } from '../access/sealed.ts';
import type { Account } from '../entities/account.ts';
import type { AlertMark, Destination, NewAlertSettings, StoredAlertSettings } from '../entities/alert.ts';
import type { AuditEntry } from '../entities/audit.ts';
import { hasAdminScope } from '../entities/key.ts';
import type { Store } from '../entities/store.ts';
import type { Clock } from '../values/clock.ts';
import { ParleyError } from '../values/errors.ts';
import type { AccountId } from '../values/ids.ts';
import { invalid, nextPage, type PageFields, readPage } from '../values/parameters.ts';
import { type Alerts, newAlert, retryDelayMs } from './alerts.ts';
import { Confirmations } from './confirmations.ts';
import { newWebhookSecret } from './deliveries.ts';
import {
  type DestinationRules,
  describeAlert,
  describeAlertSettings,
  describeWaiting,
  hostsOf,
  readAlertSettings,
  type WantedSettings,
} from './messages.ts';

/** One test is allowed in this time. */
const testMs = 10_000;

export interface AlertsApiDeps extends AccountOfCallDeps {
  readonly store: Pick<Store, 'alerts'> & AccountOfCallDeps['store'];
  readonly clock: Clock;
  readonly seal: SecretSeal;
  readonly destinationRules: DestinationRules;
  /** Undefined in a command on the data folder, which sends nothing. */
  readonly sending: Alerts | undefined;
}

export function alertsApi(deps: AlertsApiDeps) {
  const { store, clock, sending } = deps;
  const confirmations = new Confirmations({ store, clock, mail: sending?.deps.mail });
  const accountOf = async (request: AccountRequest, call: AnyCall) =>
    (await accountToChange(deps, request, call)).account;
  return {
    async getAlertSettings(request: AccountRequest, call: AnyCall) {
      const { id } = await accountOf(request, call);
      const stored = await store.alerts.settings(id);
      return stored ? described(deps, id, stored, maySetAlerts(call)) : {};
    },

    setAlertSettings: (request: pb.SetAlertSettingsRequest, call: AnyCall) =>
      setSettings(deps, confirmations, request, call),

    async sendMailConfirmation(request: AccountRequest & { readonly address: string }, call: AnyCall) {
      const { id } = await accountOf(request, call);
      return { waitingAddress: describeWaiting(await confirmations.sendAgain(id, request.address)) };
    },

    async confirmMailAddress(request: AccountRequest & { readonly code: string }, call: AnyCall) {
      const { id } = await accountOf(request, call);
      const auditOf = (details: AuditEntry['details']) => audit(deps, call, 'alerts.confirm', id, details);
      return { address: await confirmations.confirm(id, request.code, auditOf) };
    },

    async listAlerts(request: AccountRequest & PageFields, call: AnyCall) {
      const { id } = await accountOf(request, call);
      const page = await store.alerts.list(id, readPage(request));
      return { alerts: page.items.map(describeAlert), ...nextPage(page) };
    },

    async sendTestAlert(request: AccountRequest, call: AnyCall) {
      return { alert: await sendTest(deps, await accountOf(request, call)) };
    },
  };
}

async function setSettings(
  deps: AlertsApiDeps,
  confirmations: Confirmations,
  request: pb.SetAlertSettingsRequest,
  call: AnyCall,
) {
  const { alerts } = deps.store;
  const { account, own } = await accountToChange(deps, request, call);
  const wanted = request.settings && readAlertSettings(request.settings, deps.destinationRules);
  const { destination } = wanted ?? {};
  const details = { [destination?.kind ?? 'webhook']: destination ? hostsOf(destination) : 'none' };
  const entry = audit(deps, call, 'alerts.set', account.id, details);
  for (;;) {
    const before = wanted && (await alerts.settings(account.id));
    if (own !== undefined) checkHolder(deps, destination, before);
    const stored = wanted && toStore(deps, account.id, wanted, before, request.newSecret);
    const { settings, waiting = [], secret } = stored ?? {};
    // An address that was confirmed meanwhile must not wait again.
    if (!(await alerts.setSettings(account.id, settings, entry, waiting, before))) continue;
    await confirmations.sendFirst(account.id);
    const set = await alerts.settings(account.id);
    return { ...(set && described(deps, account.id, set, true)), ...(secret !== undefined && { secret }) };
  }
}

/** False for an admin key that only reads. Who knows Slack's URL can post there. */
function maySetAlerts(call: AnyCall): boolean {
  const { scopedKey } = 'actor' in call ? call : {};
  return scopedKey === undefined || hasAdminScope(scopedKey, 'alerts');
}

function described(
  { seal }: AlertsApiDeps,
  accountId: AccountId,
  stored: StoredAlertSettings,
  isWhole: boolean,
) {
  const { destination, sealedSecret = '' } = stored;
  const isOpened = isWhole && destination?.kind === 'slack';
  return describeAlertSettings(stored, isOpened ? seal.open(sealedSecret, accountId) : undefined);
}

function mailOf(destination: Destination | undefined): readonly string[] {
  return destination?.kind === 'mail' ? destination.addresses : [];
}

/**
 * Mail reaches people who did not ask for it, so the operator decides whether holders set its addresses.
 * @throws `invalid_parameter`
 */
function checkHolder(
  { destinationRules: { mail } }: AlertsApiDeps,
  wanted: Destination | undefined,
  before: StoredAlertSettings | undefined,
): void {
  if (wanted?.kind !== 'mail' || mail?.holdersMaySet) return;
  const waiting = before?.waiting.map(({ address }) => address) ?? [];
  const known = new Set([...mailOf(before?.destination), ...waiting]);
  if (isDeepStrictEqual(new Set(wanted.addresses), known)) return;
  throw invalid(
    'settings.mail_addresses',
    'Only the operator sets addresses of mail here. `alerts.smtp.holdersMaySet` lets holders set them too.',
  );
}

/**
 * The settings as they are stored, only with confirmed addresses; the others, which wait; and the secret that is made to sign
 * the posts of another webhook, or if a new one is wanted.
 * @throws `invalid_parameter` for a new room without an access token
 */
function toStore(
  { seal }: AlertsApiDeps,
  accountId: AccountId,
  { secret: given, ...wanted }: WantedSettings,
  before: NewAlertSettings | undefined,
  isNewWanted = false,
) {
  const { destination } = wanted;
  const isKept = destination && isDeepStrictEqual(destination, before?.destination);
  const isMade = destination?.kind === 'webhook' && (isNewWanted || !isKept);
  const secret = isMade ? newWebhookSecret() : undefined;
  const fresh = given ?? secret;
  const kept = isKept ? before?.sealedSecret : undefined;
  const sealedSecret = fresh === undefined ? kept : seal.seal(fresh, accountId);
  if (destination?.kind === 'matrix' && sealedSecret === undefined) {
    throw invalid('settings.matrix.access_token', 'A new room needs an access token.');
  }
  const settings = { ...wanted, sealedSecret };
  if (destination?.kind !== 'mail') return { settings, secret };
  const known = new Set(mailOf(before?.destination));
  const { yes: addresses = [], no: waiting = [] } = Object.groupBy(destination.addresses, (address) =>
    known.has(address) ? 'yes' : 'no',
  );
  return { settings: { ...settings, destination: { kind: 'mail' as const, addresses } }, waiting };
}

/** Sends an alert once. @throws `invalid_parameter` without a destination; `rate_limit_exceeded` */
async function sendTest(deps: AlertsApiDeps, { id: accountId, name: accountName }: Account) {
  const { store, clock, sending } = deps;
  const { destination, sealedSecret, offAtMs } = (await store.alerts.settings(accountId)) ?? {};
  if (destination === undefined) {
    throw invalid('settings.webhook_url', 'The alerts have no destination. Set one, then test it.');
  }
  if (offAtMs !== undefined) {
    throw invalid(
      'settings.webhook_url',
      'The destination answered 410 and is off. Set it again to turn it on.',
    );
  }
  if (sending === undefined) {
    throw new ParleyError('engine_unavailable', {
      message: 'No server runs here. Start it, then send the test.',
    });
  }
  const nowMs = clock.now();
  const fresh = newAlert(accountId, 'test', {}, nowMs);
  // The test is claimed from the beginning, so that another attempt follows only if this process dies.
  const claimed = { ...fresh, attempts: 1, nextAttemptAtMs: nowMs + retryDelayMs(1) };
  if (!(await store.alerts.raise(claimed, testMark(nowMs)))) {
    throw new ParleyError('rate_limit_exceeded', { retryAfterSeconds: testMs / 1000 });
  }
  sending.deps.observer.raised('test');
  await sending.send({ alert: fresh, accountName, destination, sealedSecret });
  const { items } = await store.alerts.list(accountId, { size: 10, after: undefined });
  return describeAlert(items.find(({ id }) => id === fresh.id) ?? fresh);
}

/** A mark that advances once per `testMs`. */
function testMark(nowMs: number): AlertMark {
  const period = String(Math.floor(nowMs / testMs)).padStart(12, '0');
  return { kind: 'test', subject: '', period, basis: '', threshold: 0 };
}
