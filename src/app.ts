/** The composition root: wires every part to the others. The program and its tests start the same app. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { basePath, type Config, type EngineConfig, type ModelConfig } from './config.ts';
import { AccountOperations } from './core/account.ts';
import { AdminOperations } from './core/admin.ts';
import { Catalog, type CatalogModel, CatalogOperations } from './core/catalog.ts';
import { ChatOperations } from './core/chat.ts';
import { Gate } from './core/gate.ts';
import { Idempotency } from './core/idempotency.ts';
import { type Clock, systemClock } from './core/ports/clock.ts';
import type { TokenCounter } from './core/ports/engines.ts';
import type { Log } from './core/ports/log.ts';
import type { Store } from './core/ports/store.ts';
import { rpcsOf } from './core/rpcs.ts';
import type { Services } from './core/services.ts';
import { SpeechOperations } from './core/speech.ts';
import { TranscriptionOperations } from './core/transcription.ts';
import { Unsettled } from './core/unsettled.ts';
import { createBuiltinEngine } from './engines/builtin/index.ts';
import type { EngineSet } from './engines/engine-set.ts';
import { createLog } from './log.ts';
import { type PortHandler, startServer } from './net/server.ts';
import { type TlsFiles, TlsPair } from './net/tls-pair.ts';
import { restHandler } from './rest/handler.ts';
import { restRoutes } from './rest/routes.ts';
import { createConnectHandler } from './rpc/connect.ts';
import { createGrpcHandler } from './rpc/grpc.ts';
import { openRpcs } from './rpc/open-rpcs.ts';
import { lockDataDir } from './store/data-lock.ts';
import { openStore as openSqliteStore } from './store/sqlite-store.ts';
import { createTokenCounter } from './tokens/counter.ts';

export interface AppOverrides {
  readonly clock?: Clock;
  readonly log?: Log;
  /** Engines by the names that the configuration gives them, in the place of those that it describes. */
  readonly engines?: Readonly<Record<string, EngineSet>>;
  /** Opens the store of a data folder. Default: SQLite. */
  readonly openStore?: (dataDir: string) => Promise<Store>;
}

export interface App {
  /** Where clients go, version prefix included: `http://127.0.0.1:8080/api/v1`. */
  readonly baseUrl: string;
  /** The same for administration, which may have a port of its own. */
  readonly adminBaseUrl: string;
  readonly services: Services;
  readonly store: Store;
  /** Models that cannot be called on this machine, with the reason. */
  readonly unavailable: readonly { readonly model: string; readonly reason: string }[];
  /** Lets requests in flight finish, then releases everything. */
  close(): Promise<void>;
}

/** Starts the server that the configuration describes. Rejects where the data folder or the address cannot be had. */
export async function createApp(config: Config, overrides: AppOverrides = {}): Promise<App> {
  const clock = overrides.clock ?? systemClock;
  const log = overrides.log ?? createLog(config.log.level);
  const tls = config.tls && (await openTls(config.tls, log));
  const lock = lockDataDir(config.dataDir);
  const store = await (overrides.openStore ?? openSqliteStore)(config.dataDir);
  const interrupted = await store.recover(clock.now());
  if (interrupted > 0) log.warn({ interrupted }, 'released what an earlier run had left open');
  const unsettled = new Unsettled(store, log);
  const tokens = createTokenCounter();
  const engines = openEngines(config, { clock, tokens }, overrides.engines);
  const models = config.models.map((model) => toCatalogModel(model, engines));
  const services = createServices(config, { store, clock, tokens, catalog: new Catalog(models) });
  const gate = new Gate({ store, clock, log, unsettled });
  const wiring: Wiring = { config, services, gate, clock, log, tls };
  const ports: Port[] = [];
  const close = async () => {
    await Promise.all(ports.map((port) => port.close()));
    tls?.close();
    await Promise.all([...engines.values()].map((engine) => engine.close()));
    await tokens.close();
    unsettled.close();
    await store.close();
    lock.release();
  };
  try {
    const main = await openPort(wiring, config.server, config.admin ? 'clients' : 'all');
    ports.push(main);
    const admin = config.admin && (await openPort(wiring, config.admin, 'admins'));
    if (admin) ports.push(admin);
    const { baseUrl } = main;
    const unavailable = models.flatMap(whyUnavailable);
    return { baseUrl, adminBaseUrl: admin?.baseUrl ?? baseUrl, services, store, unavailable, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function openTls(files: TlsFiles, log: Log): Promise<TlsPair> {
  return TlsPair.open(files, {
    onTaken: () => log.info(files, 'took the new certificate'),
    onRefused: (error) => log.error(files, `the certificate in use stays: ${error.message}`),
  });
}

interface Wiring {
  readonly config: Config;
  readonly services: Services;
  readonly gate: Gate;
  readonly clock: Clock;
  readonly log: Log;
  readonly tls: TlsPair | undefined;
}

/** Whom a port serves. */
type Audience = 'all' | 'clients' | 'admins';

interface Port {
  readonly baseUrl: string;
  /** Lets requests in flight finish. */
  close(): Promise<void>;
}

async function openPort(
  wiring: Wiring,
  { host, port }: { readonly host: string; readonly port: number },
  audience: Audience,
): Promise<Port> {
  const { server: limits } = wiring.config;
  const { health, ...edges } = openEdges(wiring, audience);
  const server = await startServer({ host, port, limits, tls: wiring.tls, ...edges });
  const close = () => {
    health.drain();
    return server.close(limits.drainMs);
  };
  return { baseUrl: server.origin + basePath, close };
}

/** The wires: REST, and the RPCs over gRPC, Connect and gRPC-Web. */
function openEdges({ config, services, ...shared }: Wiring, audience: Audience) {
  const { server, limits } = config;
  const deps = { ...shared, requestMsMax: server.requestMsMax };
  const isServed = (isAdmin: boolean) => audience === 'all' || isAdmin === (audience === 'admins');
  const routes = restRoutes(services, shared.gate, limits).filter(({ rule }) =>
    isServed(rule.path.startsWith(`${basePath}/admin/`)),
  );
  const rest = restHandler(routes, deps);
  const own = rpcsOf(services).filter(({ kind }) => isServed(kind === 'admin'));
  const { rpcs: open, health } = openRpcs(own);
  const rpcs = [...own, ...open];
  const rpcLimits = { ...server, messageBytesMax: limits.rpcMessageBytesMax };
  const connect = createConnectHandler(rpcs, rpcLimits, deps);
  const paths = new Set(rpcs.map(({ method }) => `/${method.parent.typeName}/${method.name}`));
  const handle: PortHandler = (request, response) => {
    if (!paths.has(request.url ?? '')) return rest(request, response);
    // Unlike REST it reads every body, so any may come.
    if (request.headers.expect !== undefined) response.writeContinue();
    connect(request, response);
  };
  return { handle, grpc: createGrpcHandler(rpcs, rpcLimits, deps), health };
}

interface ServiceDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly tokens: TokenCounter;
  readonly catalog: Catalog;
}

function createServices({ fairUse }: Config, { store, clock, tokens, catalog }: ServiceDeps): Services {
  const idempotency = new Idempotency({ store, clock });
  return {
    speech: new SpeechOperations({ catalog, fairUse, idempotency }),
    transcription: new TranscriptionOperations({ catalog, fairUse, idempotency }),
    chat: new ChatOperations({ catalog, tokens, accounts: store, idempotency }),
    catalog: new CatalogOperations(catalog),
    account: new AccountOperations({ store, clock, fairUse }),
    admin: new AdminOperations({ store, clock, fairUse }),
  };
}

function openEngines(
  config: Config,
  deps: { readonly clock: Clock; readonly tokens: TokenCounter },
  given: AppOverrides['engines'] = {},
): Map<string, EngineSet> {
  const scratchDir = join(config.dataDir, 'scratch');
  // A process that was killed may have left uploads behind.
  rmSync(scratchDir, { recursive: true, force: true });
  const { requestMsMax } = config.server;
  const open = (engine: EngineConfig) => createBuiltinEngine(engine, { ...deps, scratchDir, requestMsMax });
  return new Map(Object.entries(config.engines).map(([name, engine]) => [name, given[name] ?? open(engine)]));
}

function toCatalogModel(model: ModelConfig, engines: ReadonlyMap<string, EngineSet>): CatalogModel {
  const set = engines.get(model.engine);
  const facts = {
    id: model.id,
    createdAtSeconds: model.created === undefined ? 0 : Date.parse(model.created) / 1000,
    ownedBy: model.ownedBy,
    description: model.description,
  };
  switch (model.type) {
    case 'speech': {
      const voiceNames = model.voices && new Map(Object.entries(model.voices));
      const { defaultVoice } = model;
      return { ...facts, type: 'speech', engine: required(set?.speech, model), voiceNames, defaultVoice };
    }
    case 'transcription':
      return { ...facts, type: 'transcription', engine: required(set?.transcription, model) };
    case 'chat': {
      const { price, contextTokens, outputTokensMax } = model;
      const engine = required(set?.chat, model);
      return { ...facts, type: 'chat', engine, price, contextTokens, outputTokensMax };
    }
  }
}

function required<T>(operation: T | undefined, { id, engine, type }: ModelConfig): T {
  if (operation !== undefined) return operation;
  throw new Error(`The model ${id} needs ${type}, which the engine ${engine} does not offer.`);
}

function whyUnavailable({ id, engine }: CatalogModel) {
  const availability = engine.availability();
  return availability.available ? [] : [{ model: id, reason: availability.reason }];
}
