/** The composition root: wires the parts together. The program and its tests start the same app. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, checkReload } from '../config/config.ts';
import { givenAdminHolder } from '../core/access/auth.ts';
import { ClientSecrets } from '../core/access/client-secrets.ts';
import { FailedKeys } from '../core/access/failed-keys.ts';
import { Gate, type GateDeps } from '../core/access/gate.ts';
import { KnownHeaders } from '../core/access/known-headers.ts';
import { Sessions } from '../core/access/sessions.ts';
import { steadyClock } from '../core/access/steady-clock.ts';
import { accountsApi } from '../core/accounts/service.ts';
import { type AlertsDeps, alertsApi } from '../core/alerts/service.ts';
import type { FairUseRules } from '../core/billing/fair-use.ts';
import { Unsettled } from '../core/billing/unsettled.ts';
import { Catalog } from '../core/catalog/catalog.ts';
import { CatalogOperations } from '../core/catalog/service.ts';
import { ChatOperations } from '../core/chat/service.ts';
import { CompletionOperations } from '../core/completions/service.ts';
import type { TokenCounter } from '../core/entities/engine.ts';
import type { Guard } from '../core/entities/guard.ts';
import { Rates } from '../core/entities/rates.ts';
import type { RequestObserver } from '../core/entities/request-observer.ts';
import type { ServerFacts } from '../core/entities/server.ts';
import type { Store } from '../core/entities/store.ts';
import { noTracer, type Tracer } from '../core/entities/tracer.ts';
import { Idempotency } from '../core/idempotency/idempotency.ts';
import { MessageOperations } from '../core/messages/service.ts';
import { RealtimeOperations } from '../core/realtime/service.ts';
import { ResponseOperations } from '../core/responses/service.ts';
import type { Services } from '../core/services.ts';
import { SpeechOperations } from '../core/speech/service.ts';
import { TranscriptionOperations } from '../core/transcription/service.ts';
import { type Clock, systemClock } from '../core/values/clock.ts';
import type { Log } from '../core/values/log.ts';
import type { EngineSet } from '../engines/engine-set.ts';
import { liveMedia } from '../engines/live-media.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { createTokenCounter } from '../tokens/counter.ts';
import { ByteBudget } from '../transports/byte-budget.ts';
import { type TlsFiles, TlsPair } from '../transports/http/tls-pair.ts';
import type { PageFiles } from '../transports/rest/page-routes.ts';
import { openAlerts } from './alerts.ts';
import { byteLimits } from './byte-limits.ts';
import type { ConfigSource } from './configuration-file.ts';
import { type OpenStore, openData } from './data.ts';
import { Engines } from './engines.ts';
import { IdleMemory } from './idle-memory.ts';
import { type ListeningSockets, openPorts } from './listeners.ts';
import { createLog } from './log.ts';
import { logLinesLost } from './log-output.ts';
import { readPageFiles } from './page-files.ts';
import { openSupervisor } from './programs.ts';
import { Readiness } from './readiness.ts';
import { serverFacts } from './server-facts.ts';
import { openSignIn, ruleIds } from './sign-in.ts';
import { version } from './version.ts';

export interface AppOverrides {
  /** The configuration file. Default: none */
  readonly source?: ConfigSource | undefined;
  readonly clock?: Clock;
  readonly log?: Log;
  /** Engines by configured name, which replace the configured ones. */
  readonly engines?: Readonly<Record<string, EngineSet>>;
  /** The caller closes it. Default: the server opens and closes its own. */
  readonly tokens?: TokenCounter;
  readonly openStore?: OpenStore;
  /** Default: none; the server binds the configured addresses. */
  readonly sockets?: ListeningSockets;
  /** Idle time after which garbage is collected. Default: a minute. */
  readonly quietMs?: number | undefined;
  /** Time after which the garbage of the start is collected. Default: it is not. */
  readonly settleMs?: number;
  /** Timing of alerts and resolution of webhooks. Default: as in production */
  readonly alerts?: Pick<Parameters<typeof openAlerts>[1], 'intervalMs' | 'resolve'>;
  /** Default: the files of the last build. */
  readonly pages?: PageFiles;
}

export interface App {
  /** The base URL of clients, with version prefix: `http://127.0.0.1:8080/api/v1`. */
  readonly baseUrl: string;
  /** The base URL of administration, which may have its own port. */
  readonly adminBaseUrl: string;
  /** Whether `/console` is served. */
  readonly hasConsole: boolean;
  /** Whether the reference is served at /docs. */
  readonly hasDocs: boolean;
  readonly services: Services;
  readonly store: Store;
  /** Models that cannot be called on this machine, with the reason. */
  unavailable(): readonly { readonly model: string; readonly reason: string }[];
  /**
   * Switches to the engines, models, prices and fair-use rules of another configuration, completely or not at all.
   * Running requests keep the old ones.
   * Rejects if anything else differs.
   */
  reload(config: Config): Promise<void>;
  /** Waits for running requests, then releases all resources. */
  close(): Promise<void>;
}

/** Starts the server that the configuration describes. Rejects if the data folder is in use or the address cannot be bound. */
export async function createApp(config: Config, overrides: AppOverrides = {}): Promise<App> {
  const opened = new AsyncDisposableStack();
  try {
    return await open(config, overrides, opened);
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

/** @param opened collects resources to close, in reverse order */
async function open(config: Config, overrides: AppOverrides, opened: AsyncDisposableStack): Promise<App> {
  const clock = overrides.clock ?? systemClock;
  const log = overrides.log ?? createLog(config.log.level);
  const tls = config.tls && (await openTls(config.tls, log));
  opened.defer(() => tls?.close());
  const readiness = new Readiness(log, config.dataDir);
  const { openStore, source } = overrides;
  const store = await openData(config, { clock, log, observer: readiness, openStore }, opened);
  const unsettled = opened.adopt(new Unsettled(store, log), (ends) => ends.close());
  const tokens = overrides.tokens ?? opened.adopt(createTokenCounter(), (counter) => counter.close());
  const tracer = await openTracer(config);
  opened.defer(() => endTraces(tracer, log));
  const supervisor = openSupervisor(config, log);
  const bytes = new ByteBudget(byteLimits(config.limits));
  const metrics = createMetrics({
    version,
    bufferedBytes: () => bytes.bytes,
    logLinesLost,
    isReady: () => readiness.whyNot() === undefined,
    isModel: (id) => catalog.has(id),
    engines: () => engines.readings(),
  });
  const engines = new Engines({ ...overrides, clock, tokens, log, tracer, supervisor, metrics });
  opened.defer(() => engines.close());
  const catalog = new Catalog(await engines.use(config), config.realtime);
  const fairUse = { ...config.fairUse }; // A reload changes it in place.
  const accessClock = await steadyClock(clock, store);
  let running = config;
  const startedAtMs = clock.now();
  const server = serverFacts({ startedAtMs, config: () => running, engines, catalog, readiness, source });
  const guard = await openGuard(config, log, tracer, opened);
  const facts = { store, clock, accessClock, fairUse, log, tracer, guard };
  const alerts = openAlerts(config, { ...facts, observer: metrics.alerts, ...overrides.alerts }, opened);
  const services = createServices({ ...facts, tokens, catalog, server, alerts, limits: config.limits });
  const memory = opened.adopt(new IdleMemory(overrides), (idle) => idle.close());
  const observer = observedBy(metrics.observer, memory.observer, tracer);
  const access = await openAccess(config, { store, clock, accessClock, log, unsettled, observer });
  const { access: metricsAccess } = config.metrics;
  const probes = { readiness, engines: () => engines.counts(), metrics, metricsAccess };
  const pages = pagesOf(config, overrides);
  const shared = { ...access, clock, log, tls, tracer, probes, bytes, pages };
  const ports = await openPorts({ config, services, sockets: overrides.sockets ?? {}, ...shared });
  opened.defer(() => ports.close());
  return {
    baseUrl: ports.baseUrl,
    adminBaseUrl: ports.adminBaseUrl,
    hasConsole: pages.has('console/index.html'),
    hasDocs: pages.has('docs/index.html'),
    services,
    store,
    unavailable: () => catalog.unavailable(),
    reload: async (next) => {
      checkReload(running, next);
      catalog.replace(await engines.use(next), next.realtime);
      Object.assign(fairUse, next.fairUse);
      running = next;
    },
    close: async () => {
      readiness.stop();
      ports.leave();
      await sleep(config.server.unreadyMs);
      services.realtime.drain(config.server.drainMs);
      await opened.disposeAsync();
    },
  };
}

/** The gate, and the sessions of the console unless the console is turned off. */
async function openAccess(
  config: Config,
  deps: Omit<GateDeps, 'givenAdmin' | 'knownHeaders' | 'rates' | 'failedKeys'>,
) {
  const { adminKey, console, limits } = config;
  const givenAdmin = adminKey && givenAdminHolder(adminKey.reveal());
  const failedKeys = new FailedKeys(limits.failedKeysPerMinuteMax);
  return {
    signIn: await openSignIn(config, deps),
    gate: new Gate({ ...deps, givenAdmin, knownHeaders: new KnownHeaders(), rates: new Rates(), failedKeys }),
    sessions:
      console.access === 'off' ? undefined : new Sessions({ ...deps, givenAdmin, rules: ruleIds(config) }),
  };
}

/** Omits the reference or the console if it is turned off. */
function pagesOf(config: Config, { pages = readPageFiles() }: AppOverrides): PageFiles {
  const isOpen = (path: string) => config[path.startsWith('console/') ? 'console' : 'docs'].access === 'open';
  return new Map([...pages].filter(([path]) => isOpen(path)));
}

/** Loads the client only if a guard is configured. */
async function openGuard(
  { guard: settings, guardKey }: Config,
  log: Log,
  tracer: Tracer,
  opened: AsyncDisposableStack,
): Promise<Guard | undefined> {
  if (settings === undefined) return undefined;
  const { HttpGuard } = await import('../engines/guard/http-guard.ts');
  const deps = { apiKey: guardKey?.reveal(), log, traceHeaders: () => tracer.outgoing() };
  return opened.adopt(new HttpGuard(settings, deps), (guard) => guard.close());
}

/** Loads the tracing libraries only if tracing is configured. */
async function openTracer({ tracing: { endpoint, sampleRatio } }: Config): Promise<Tracer> {
  if (endpoint === undefined) return noTracer;
  const { createTraces } = await import('../telemetry/traces.ts');
  return createTraces({ endpoint, sampleRatio, version });
}

/** Sends the last traces. An unreachable collector must not make the stop fail. */
async function endTraces(tracer: Tracer, log: Log): Promise<void> {
  try {
    await tracer.close();
  } catch (error) {
    log.warn({ err: error }, 'the last traces could not be sent');
  }
}

function observedBy(
  metrics: RequestObserver,
  memory: IdleMemory['observer'],
  tracer: Tracer,
): RequestObserver {
  return {
    ...metrics,
    began: (start) => {
      metrics.began(start);
      memory.began(start);
    },
    ended: (start, end, held) => {
      metrics.ended(start, end, held);
      memory.ended(start, end, held);
      tracer.note(start, end);
    },
  };
}

function openTls(files: TlsFiles, log: Log): Promise<TlsPair> {
  return TlsPair.open(files, {
    onTaken: () => log.info(files, 'loaded the new certificate'),
    onRefused: (error) => log.error(files, `the certificate in use stays: ${error.message}`),
  });
}

interface ServiceDeps {
  readonly log: Log;
  readonly store: Store;
  readonly clock: Clock;
  readonly accessClock: Clock;
  readonly tokens: TokenCounter;
  readonly catalog: Catalog;
  readonly fairUse: FairUseRules;
  readonly server: ServerFacts;
  readonly alerts: AlertsDeps;
  readonly guard: Guard | undefined;
  readonly limits: Config['limits'];
  readonly tracer: Tracer;
}

function createServices(deps: ServiceDeps): Services {
  const { log, store, clock, accessClock, tokens, catalog, fairUse, server, alerts, guard, tracer } = deps;
  const { keysPerAccountMax, keptAnswerBytesPerAccountMax: bytesPerAccountMax } = deps.limits;
  const idempotency = new Idempotency({ store, clock, bytesPerAccountMax });
  const chat = new ChatOperations({ log, clock, catalog, tokens, ledger: store.ledger, idempotency, guard });
  const speech = new SpeechOperations({ catalog, fairUse, idempotency });
  return {
    speech,
    transcription: new TranscriptionOperations({ catalog, fairUse, idempotency }),
    clientSecrets: new ClientSecrets({ store, accessClock }),
    realtime: new RealtimeOperations({ catalog, fairUse, chat, speech, tracer, media: liveMedia }),
    chat,
    responses: new ResponseOperations({ chat, idempotency }),
    messages: new MessageOperations({ chat, idempotency }),
    completions: new CompletionOperations({ chat, idempotency }),
    catalog: new CatalogOperations(catalog),
    accounts: {
      ...accountsApi({ store, clock, accessClock, fairUse, server, keysPerAccountMax }),
      ...alertsApi(alerts),
    },
  };
}
