/** The part of the app that raises alerts and sends them. */
import type { Config } from '../config/config.ts';
import { SecretSeal } from '../core/access/sealed.ts';
import { Alerts, type AlertsDeps } from '../core/alerts/alerts.ts';
import type { AlertsApiDeps } from '../core/alerts/service.ts';
import type { Store } from '../core/entities/store.ts';
import { SmtpSender } from '../mail/smtp-sender.ts';
import { httpSender, type Resolve } from '../webhooks/http-sender.ts';
import { version } from './version.ts';

type AlertsContext = Omit<AlertsDeps, 'sender' | 'seal' | 'store'> & {
  readonly store: Store;
  /** Default: the resolver of this machine. */
  readonly resolve?: Resolve | undefined;
  /** Time between two checks of all accounts. Default: 5 seconds */
  readonly intervalMs?: number | undefined;
};

/**
 * Begins to raise and send alerts.
 * @param opened collects resources to close, in reverse order
 */
export function openAlerts(
  config: Config,
  { resolve, intervalMs, ...context }: AlertsContext,
  opened: AsyncDisposableStack,
): AlertsApiDeps {
  const deps = alertsWithoutServer(config, context);
  const { destinationRules: rules, seal } = deps;
  const sender = httpSender({ rules, userAgent: `Parley/${version}`, resolve });
  const sending = new Alerts({ ...context, sender, seal }, intervalMs);
  opened.defer(() => sending.close());
  return { ...deps, sending };
}

/** Undefined without a mail server. */
export function mailSender({ alerts: { smtp }, smtpPassword }: Config): SmtpSender | undefined {
  return smtp && new SmtpSender({ ...smtp, password: smtpPassword?.reveal() });
}

/** For a command on the data folder, which sets and lists alerts but sends nothing. */
export function alertsWithoutServer(
  { alerts: { allowedNetworks, smtp }, sealingKey }: Config,
  { store, clock, accessClock }: Pick<AlertsContext, 'store' | 'clock' | 'accessClock'>,
): AlertsApiDeps {
  const seal = new SecretSeal(sealingKey?.reveal());
  const destinationRules = { allowedNetworks, mail: smtp };
  return { store, clock, accessClock, seal, destinationRules, sending: undefined };
}
