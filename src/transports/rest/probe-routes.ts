import type { RpcTable } from '../../core/rpcs.ts';
import type { Services } from '../../core/services.ts';
import type { Readiness } from '../readiness.ts';
import type { Exchange } from './exchange.ts';
import type { Route } from './routes.ts';

export interface Probes {
  readonly readiness: Readiness;
  /**
   * The number of engines that are reachable, and of those that are not. Their names are only in the metrics, which
   * need a key.
   */
  readonly engines: () => { readonly up: number; readonly down: number };
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  readonly metricsAccess: 'off' | 'key' | 'open';
}

/** For monitoring, at the root of the port: `GET /healthz` (alive), `GET /readyz` (send requests), `GET /metrics` (Prometheus). */
export function probeRoutes({ readiness, engines, metrics, metricsAccess }: Probes): Route[] {
  const routes = [
    get('/healthz', async (exchange) => exchange.sendJson(200, { status: 'ok' }, uncached)),
    get('/readyz', async (exchange) => {
      const reason = readiness.whyNot();
      if (reason === undefined) exchange.sendJson(200, { status: 'ready', engines: engines() }, uncached);
      else exchange.sendJson(503, { status: 'not_ready', reason, engines: engines() }, uncached);
    }),
  ];
  if (metricsAccess === 'off') return routes;
  const answer = get('/metrics', async (exchange) => {
    const { gate, arrival } = exchange.served;
    if (metricsAccess === 'key') await gate.openAdmin(arrival, 'server:read');
    exchange.sendText(200, metrics.contentType, await metrics.text(), uncached);
  });
  return [...routes, answer];
}

const uncached = { 'cache-control': 'no-store' };

function get(path: string, handle: (exchange: Exchange) => Promise<void>): Route {
  return { rule: { verb: 'GET', path }, rpc: undefined, handle };
}

/** The same RPCs, of which the lists of voices and of speech models need no key. */
export function withOpenVoices(table: RpcTable, { catalog }: Pick<Services, 'catalog'>): RpcTable {
  const { listVoices, listSpeechModels } = table;
  return {
    ...table,
    listVoices: { ...listVoices, runKeyless: (request) => catalog.listVoices(request, undefined) },
    listSpeechModels: {
      ...listSpeechModels,
      runKeyless: (request) => catalog.listSpeechModels(request, undefined),
    },
  };
}
