/** The alerts of an account, as its holders and administrators set and see them. */
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type {
  Alert as AlertMessage,
  AlertSettings as AlertSettingsMessage,
} from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import type { AlertMark, AlertSettings, StoredAlertSettings } from '../entities/alert.ts';
import { auditEntry } from '../entities/audit.ts';
import { ParleyError } from '../values/errors.ts';
import type { AccountId } from '../values/ids.ts';
import { invalid, nextPage, readPage } from '../values/parameters.ts';
import { newAlert } from './alerts.ts';
import { Deliveries, type DeliveriesDeps, retryDelayMs } from './deliveries.ts';
import { describeAlert, describeAlertSettings, readAlertSettings } from './messages.ts';
import { newWebhookSecret } from './signature.ts';
import type { AddressRules } from './webhook-address.ts';

/** At most one test in this time. */
const testMs = 10_000;

export interface AccountAlertsDeps extends Omit<DeliveriesDeps, 'sender'> {
  /** Undefined in a command on the data folder, which sends nothing. */
  readonly sender: DeliveriesDeps['sender'] | undefined;
  readonly addressRules: AddressRules;
}

interface WantedSettings {
  readonly settings?: AlertSettingsMessage | undefined;
  readonly newSecret?: boolean | undefined;
}

/** Who makes a change. */
interface By {
  readonly actor: string;
}

export class AccountAlerts {
  readonly #deps: AccountAlertsDeps;

  constructor(deps: AccountAlertsDeps) {
    this.#deps = deps;
  }

  async settings(accountId: AccountId) {
    const stored = await this.#deps.store.alertSettings(accountId);
    if (stored === undefined) return {};
    const { webhookOffAtMs: offAtMs } = stored;
    return {
      settings: describeAlertSettings(stored),
      ...(offAtMs !== undefined && { webhookOffAt: timestampFromMs(offAtMs) }),
    };
  }

  /** @throws `invalid_parameter` */
  async setSettings(accountId: AccountId, { settings: wanted, newSecret = false }: WantedSettings, by: By) {
    const { store, addressRules } = this.#deps;
    if (wanted === undefined) {
      await store.setAlertSettings(accountId, undefined, this.#audit(accountId, by, 'none'));
      return {};
    }
    const settings = readAlertSettings(wanted, addressRules);
    const before = await store.alertSettings(accountId);
    const isNew =
      settings.webhookUrl !== undefined && (newSecret || settings.webhookUrl !== before?.webhookUrl);
    const secret = isNew ? newWebhookSecret() : undefined;
    const stored = this.#stored(accountId, settings, secret, before);
    await store.setAlertSettings(accountId, stored, this.#audit(accountId, by, webhookHost(settings)));
    return { settings: describeAlertSettings(settings), ...(secret !== undefined && { secret }) };
  }

  async list(accountId: AccountId, request: Parameters<typeof readPage>[0]) {
    const page = await this.#deps.store.listAlerts(accountId, readPage(request));
    return { alerts: page.items.map(describeAlert), ...nextPage(page) };
  }

  /** Posts an alert once. @throws `invalid_parameter` without a webhook; `rate_limit_exceeded` */
  async sendTest(accountId: AccountId): Promise<AlertMessage> {
    const { store, clock, sender } = this.#deps;
    const settings = await store.alertSettings(accountId);
    const { webhookUrl, sealedSecret, webhookOffAtMs } = settings ?? {};
    if (webhookUrl === undefined || sealedSecret === undefined) {
      throw invalid('settings.webhook_url', 'The account has no webhook. Set its URL, then test it.');
    }
    if (webhookOffAtMs !== undefined) {
      throw invalid(
        'settings.webhook_url',
        'The webhook answered 410 and is off. Set it again to turn it on.',
      );
    }
    if (sender === undefined) {
      throw new ParleyError('engine_unavailable', { message: 'No server runs here. Start it, then test.' });
    }
    const nowMs = clock.now();
    const fresh = newAlert(accountId, 'test', {}, nowMs);
    // Claimed from the beginning: only if this process dies does another attempt follow.
    const claimed = { ...fresh.delivery, attempts: 1, nextAttemptAtMs: nowMs + retryDelayMs(1) };
    if (!(await store.raiseAlert({ ...fresh, delivery: claimed }, testMark(nowMs)))) {
      throw new ParleyError('rate_limit_exceeded', { retryAfterSeconds: testMs / 1000 });
    }
    this.#deps.observer.raised('test');
    await new Deliveries({ ...this.#deps, sender }).attempt({ alert: fresh, webhookUrl, sealedSecret });
    const { items } = await store.listAlerts(accountId, { size: 10, after: undefined });
    return describeAlert(items.find(({ id }) => id === fresh.id) ?? fresh);
  }

  #stored(
    accountId: AccountId,
    settings: AlertSettings,
    secret: string | undefined,
    before: StoredAlertSettings | undefined,
  ): StoredAlertSettings {
    const sealedSecret =
      secret === undefined ? before?.sealedSecret : this.#deps.seal.seal(secret, accountId);
    return {
      ...{ ...settings, accountId, webhookOffAtMs: undefined },
      sealedSecret: settings.webhookUrl === undefined ? undefined : sealedSecret,
    };
  }

  #audit(target: AccountId, by: By, webhook: string) {
    return auditEntry(this.#deps.clock.now(), by, { action: 'alerts.set', target, details: { webhook } });
  }
}

/** For the audit trail. The path of a URL may hold a secret. */
function webhookHost({ webhookUrl }: AlertSettings): string {
  return webhookUrl === undefined ? 'none' : new URL(webhookUrl).host;
}

/** Moves on once in a while. */
function testMark(nowMs: number): AlertMark {
  const period = String(Math.floor(nowMs / testMs)).padStart(12, '0');
  return { kind: 'test', subject: '', period, basis: '', threshold: 0 };
}
