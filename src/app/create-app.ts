/** The composition root: wires the parts together. The program and its tests start the same app. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, checkReload } from '../config/config.ts';
import type { Store } from '../core/entities/store.ts';
import type { Tracer } from '../core/entities/tracer.ts';
import type { RequestObserver } from '../core/entities/usage.ts';
import type { Services } from '../core/services.ts';
import type { PageFiles } from '../transports/rest/page-routes.ts';
import { openAccess } from './access.ts';
import { type BaseOverrides, openBase } from './base.ts';
import type { ConfigSource } from './configuration-file.ts';
import { IdleMemory } from './idle-memory.ts';
import { type ListeningSockets, openPorts } from './listeners.ts';
import { type OfferOverrides, openOffer } from './offer.ts';
import { readPageFiles } from './page-files.ts';
import { serverFacts } from './server-facts.ts';
import { type AlertOverrides, openServices } from './services.ts';

export interface AppOverrides extends BaseOverrides, OfferOverrides {
  /** The configuration file. Default: none */
  readonly source?: ConfigSource | undefined;
  /** Default: none; the server binds the configured addresses. */
  readonly sockets?: ListeningSockets;
  /** Idle time after which garbage is collected. Default: a minute. */
  readonly quietMs?: number | undefined;
  /** Time after which the garbage of the start is collected. Default: it is not. */
  readonly settleMs?: number;
  readonly alerts?: AlertOverrides;
  /** Default: the files of the last build. */
  readonly pages?: PageFiles;
}

export interface App {
  /** The base URL of clients, with version prefix: `http://127.0.0.1:8080/api/v1`. */
  readonly baseUrl: string;
  /** The base URL of administration, which may have its own port. */
  readonly adminBaseUrl: string;
  readonly hasConsole: boolean;
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
  const base = await openBase(config, overrides, opened);
  const offer = await openOffer(config, base, overrides);
  const { engines, catalog } = offer;
  const fairUse = { ...config.fairUse };
  let running = config;
  const services = await openServices(config, {
    base,
    offer,
    fairUse,
    server: serverFacts({
      startedAtMs: base.clock.now(),
      config: () => running,
      engines,
      catalog,
      readiness: base.readiness,
      source: overrides.source,
    }),
    alerts: overrides.alerts,
  });
  const { requests, observer: counting } = offer.metrics;
  opened.adopt(new IdleMemory({ ...overrides, requests }), (idle) => idle.close());
  const observer = base.tracer ? traced(counting, base.tracer) : counting;
  const access = await openAccess(config, base, { catalog, observer });
  const pages = pagesOf(config, overrides);
  const sockets = overrides.sockets ?? {};
  const ports = await openPorts({ config, base, offer, services, access, pages, sockets });
  opened.defer(() => ports.close());
  return {
    baseUrl: ports.baseUrl,
    adminBaseUrl: ports.adminBaseUrl,
    hasConsole: pages.has('console/index.html'),
    hasDocs: pages.has('docs/index.html'),
    services,
    store: base.store,
    unavailable: () => catalog.unavailable(),
    reload: async (next) => {
      checkReload(running, next);
      catalog.replace(await engines.use(next), next.realtime);
      Object.assign(fairUse, next.fairUse);
      running = next;
    },
    close: async () => {
      base.readiness.stop();
      ports.leave();
      await sleep(config.server.unreadyMs);
      services.realtime.drain(config.server.drainMs);
      await opened.disposeAsync();
    },
  };
}

/** Omits the reference or the console if it is turned off. */
function pagesOf(config: Config, { pages = readPageFiles() }: AppOverrides): PageFiles {
  const isOpen = (path: string) => config[path.startsWith('console/') ? 'console' : 'docs'].access === 'open';
  return new Map([...pages].filter(([path]) => isOpen(path)));
}

function traced(counting: RequestObserver, tracer: Tracer): RequestObserver {
  return {
    ...counting,
    ended: (start, end, held) => {
      counting.ended(start, end, held);
      tracer.note(start, end);
    },
  };
}
