import { CatalogService } from '../../../gen/parley/catalog/v1/catalog_service_pb.ts';
import type { Rpc, RpcTable } from '../../core/rpcs.ts';
import type { Services } from '../../core/services.ts';
import type { Readiness } from '../readiness.ts';
import type { Exchange, RestHandler } from './exchange.ts';
import type { Route } from './routes.ts';
import { keylessHandler } from './unary.ts';

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
    if (metricsAccess === 'key') await exchange.served.openAdmin('server:read');
    exchange.sendText(200, metrics.contentType, await metrics.text(), uncached);
  });
  return [...routes, answer];
}

const uncached = { 'cache-control': 'no-store' };

function get(path: string, handle: (exchange: Exchange) => Promise<void>): Route {
  return { rule: { verb: 'GET', path }, rpc: undefined, handle };
}

const { listVoices, listSpeechModels } = CatalogService.method;

/** The handlers of lists of voices and speech models without an `Authorization` header, if the operator allows it. */
export function openVoices(
  table: RpcTable,
  { catalog }: Pick<Services, 'catalog'>,
): ReadonlyMap<Rpc, RestHandler> {
  return new Map<Rpc, RestHandler>([
    [table.listVoices, keylessHandler(listVoices, (request) => catalog.listVoices(request, undefined))],
    [
      table.listSpeechModels,
      keylessHandler(listSpeechModels, (request) => catalog.listSpeechModels(request, undefined)),
    ],
  ]);
}
