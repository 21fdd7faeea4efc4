/** The alerts of an account, set and seen by its own keys with the scope `manage` and by administrators. */
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type * as pb from '../../../gen/parley/admin/v1/alerts_pb.ts';
import type * as ownPb from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import { type AccountOfCallDeps, accountToChange, actorOf } from '../access/account-of-call.ts';
import type { AnyCall } from '../access/call.ts';
import type { AlertMark, AlertSettings, StoredAlertSettings } from '../entities/alert.ts';
import { auditEntry } from '../entities/audit.ts';
import type { Store } from '../entities/store.ts';
import { ParleyError } from '../values/errors.ts';
import type { AccountId } from '../values/ids.ts';
import { invalid, nextPage, readPage } from '../values/parameters.ts';
import { newAlert } from './alerts.ts';
import { Deliveries, type DeliveriesDeps, retryDelayMs } from './deliveries.ts';
import { describeAlert, describeAlertSettings, readAlertSettings } from './messages.ts';
import { newWebhookSecret } from './signature.ts';
import type { AddressRules } from './webhook-address.ts';

/** One test is allowed in this time. */
const testMs = 10_000;

export interface AlertsDeps extends Omit<DeliveriesDeps, 'sender'>, AccountOfCallDeps {
  readonly store: Pick<Store, 'alerts'> & AccountOfCallDeps['store'];
  /** Undefined in a command on the data folder, which sends nothing. */
  readonly sender: DeliveriesDeps['sender'] | undefined;
  readonly addressRules: AddressRules;
}

export function alertsApi(deps: AlertsDeps) {
  const { store } = deps;
  return {
    async getAlertSettings(
      request: pb.GetAlertSettingsRequest | ownPb.GetAlertSettingsRequest,
      call: AnyCall,
    ) {
      const { account } = await accountToChange(deps, request, call);
      const stored = await store.alerts.settings(account.id);
      if (stored === undefined) return {};
      const { webhookOffAtMs: offAtMs } = stored;
      return {
        settings: describeAlertSettings(stored),
        ...(offAtMs !== undefined && { webhookOffAt: timestampFromMs(offAtMs) }),
      };
    },

    async setAlertSettings(
      request: pb.SetAlertSettingsRequest | ownPb.SetAlertSettingsRequest,
      call: AnyCall,
    ) {
      const { id } = (await accountToChange(deps, request, call)).account;
      const settings = request.settings && readAlertSettings(request.settings, deps.addressRules);
      const before = settings && (await store.alerts.settings(id));
      const url = settings?.webhookUrl;
      const secret =
        url !== undefined && (request.newSecret || url !== before?.webhookUrl)
          ? newWebhookSecret()
          : undefined;
      const stored = settings && storedSettings(deps, id, settings, secret, before);
      // The path of a URL may hold a secret.
      const change = {
        action: 'alerts.set',
        target: id,
        details: { webhook: url ? new URL(url).host : 'none' },
      };
      const entry = auditEntry(deps.clock.now(), { actor: actorOf(call) }, change);
      await store.alerts.setSettings(id, stored, entry);
      return {
        ...(settings && { settings: describeAlertSettings(settings) }),
        ...(secret !== undefined && { secret }),
      };
    },

    async listAlerts(request: pb.ListAlertsRequest | ownPb.ListAlertsRequest, call: AnyCall) {
      const { account } = await accountToChange(deps, request, call);
      const page = await store.alerts.list(account.id, readPage(request));
      return { alerts: page.items.map(describeAlert), ...nextPage(page) };
    },

    async sendTestAlert(request: pb.SendTestAlertRequest | ownPb.SendTestAlertRequest, call: AnyCall) {
      const { account } = await accountToChange(deps, request, call);
      return { alert: await sendTest(deps, account.id) };
    },
  };
}

function storedSettings(
  { seal }: AlertsDeps,
  accountId: AccountId,
  settings: AlertSettings,
  secret: string | undefined,
  before: StoredAlertSettings | undefined,
): StoredAlertSettings {
  const sealed = secret === undefined ? before?.sealedSecret : seal.seal(secret, accountId);
  const sealedSecret = settings.webhookUrl === undefined ? undefined : sealed;
  return { ...settings, accountId, webhookOffAtMs: undefined, sealedSecret };
}

/** Posts an alert once. @throws `invalid_parameter` without a webhook; `rate_limit_exceeded` */
async function sendTest(deps: AlertsDeps, accountId: AccountId) {
  const { store, clock, sender } = deps;
  const { webhookUrl, sealedSecret, webhookOffAtMs } = (await store.alerts.settings(accountId)) ?? {};
  if (webhookUrl === undefined || sealedSecret === undefined) {
    throw invalid('settings.webhook_url', 'The account has no webhook. Set its URL, then test it.');
  }
  if (webhookOffAtMs !== undefined) {
    throw invalid('settings.webhook_url', 'The webhook answered 410 and is off. Set it again to turn it on.');
  }
  if (sender === undefined) {
    throw new ParleyError('engine_unavailable', {
      message: 'No server runs here. Start it, then send the test.',
    });
  }
  const nowMs = clock.now();
  const fresh = newAlert(accountId, 'test', {}, nowMs);
  // The test is claimed from the beginning, so that another attempt follows only if this process dies.
  const claimed = { ...fresh.delivery, attempts: 1, nextAttemptAtMs: nowMs + retryDelayMs(1) };
  if (!(await store.alerts.raise({ ...fresh, delivery: claimed }, testMark(nowMs)))) {
    throw new ParleyError('rate_limit_exceeded', { retryAfterSeconds: testMs / 1000 });
  }
  deps.observer.raised('test');
  await new Deliveries({ ...deps, sender }).attempt({ alert: fresh, webhookUrl, sealedSecret });
  const { items } = await store.alerts.list(accountId, { size: 10, after: undefined });
  return describeAlert(items.find(({ id }) => id === fresh.id) ?? fresh);
}

/** A mark that advances once per `testMs`. */
function testMark(nowMs: number): AlertMark {
  const period = String(Math.floor(nowMs / testMs)).padStart(12, '0');
  return { kind: 'test', subject: '', period, basis: '', threshold: 0 };
}
