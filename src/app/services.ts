import type { Config } from '../config/config.ts';
import { ClientSecrets } from '../core/access/client-secrets.ts';
import { accountsApi } from '../core/accounts/service.ts';
import { alertsApi } from '../core/alerts/service.ts';
import type { FairUseRules } from '../core/billing/fair-use.ts';
import { CatalogOperations } from '../core/catalog/service.ts';
import { DialectOperations } from '../core/chat/dialect.ts';
import { ReasoningSeal } from '../core/chat/reasoning.ts';
import { ChatOperations } from '../core/chat/service.ts';
import { completions } from '../core/completions/dialect.ts';
import type { Guard } from '../core/entities/engine.ts';
import type { ServerFacts } from '../core/entities/server.ts';
import { Idempotency } from '../core/idempotency/idempotency.ts';
import { messages } from '../core/messages/dialect.ts';
import { RealtimeOperations } from '../core/realtime/service.ts';
import { responses } from '../core/responses/dialect.ts';
import type { Services } from '../core/services.ts';
import { SpeechOperations } from '../core/speech/service.ts';
import { TranscriptionOperations } from '../core/transcription/service.ts';
import { liveMedia } from '../engines/live-media.ts';
import { mailSender, openAlerts } from './alerts.ts';
import type { Base } from './base.ts';
import type { Offer } from './offer.ts';

/** Timing of alerts and resolution of webhooks. Default: as in production */
export type AlertOverrides = Pick<Parameters<typeof openAlerts>[1], 'intervalMs' | 'resolve'>;

interface ServiceDeps {
  readonly base: Base;
  readonly offer: Offer;
  /** A reload changes them in place. */
  readonly fairUse: FairUseRules;
  readonly server: ServerFacts;
  readonly alerts: AlertOverrides | undefined;
}

export async function openServices(
  config: Config,
  { base, offer, fairUse, server, alerts }: ServiceDeps,
): Promise<Services> {
  const { log, store, clock, accessClock, tracer, opened } = base;
  const { tokens, catalog, metrics } = offer;
  const { keysPerAccountMax, keptAnswerBytesPerAccountMax: bytesPerAccountMax } = config.limits;
  const guard = await openGuard(config, base);
  const mail = mailSender(config);
  const alerting = { store, clock, accessClock, fairUse, log, observer: metrics.alerts, mail, ...alerts };
  const idempotency = new Idempotency({ store, clock, bytesPerAccountMax });
  const { streamPingMs } = config.server;
  const chat = new ChatOperations({
    log,
    clock,
    catalog,
    tokens,
    ledger: store.ledger,
    idempotency,
    streamPingMs,
    guard,
  });
  const reasoning = new ReasoningSeal(await store.reasoningSecret());
  const dialectDeps = { chat, idempotency, reasoning, log };
  const speech = new SpeechOperations({ catalog, fairUse, idempotency });
  return {
    speech,
    transcription: new TranscriptionOperations({ catalog, fairUse, idempotency }),
    clientSecrets: new ClientSecrets({ store, accessClock }),
    realtime: new RealtimeOperations({ catalog, fairUse, chat, speech, tracer, media: liveMedia }),
    chat,
    responses: new DialectOperations(responses, dialectDeps),
    messages: new DialectOperations(messages, dialectDeps),
    completions: new DialectOperations(completions, dialectDeps),
    catalog: new CatalogOperations(catalog),
    accounts: {
      ...accountsApi({ store, clock, accessClock, fairUse, server, keysPerAccountMax, mail }),
      ...alertsApi(openAlerts(config, alerting, opened)),
    },
  };
}

/** Loads the client only if a guard is configured. */
async function openGuard(
  { guard: settings, guardKey }: Config,
  { log, tracer, opened }: Base,
): Promise<Guard | undefined> {
  if (settings === undefined) return undefined;
  const { HttpGuard } = await import('../engines/guard/http-guard.ts');
  const deps = { apiKey: guardKey?.reveal(), log, traceHeaders: tracer && (() => tracer.outgoing()) };
  return opened.adopt(new HttpGuard(settings, deps), (guard) => guard.close());
}
