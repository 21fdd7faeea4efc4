import type { Gate } from '../../core/access/gate.ts';
import type { Exchange } from './exchange.ts';
import type { Route } from './routes.ts';

export interface Probes {
  /** Why this server should get no more requests; undefined where it should. */
  readonly whyNotReady: () => string | undefined;
  /** How many engines can be reached, and how many cannot. Their names are for those who may read the metrics. */
  readonly engines: () => { readonly up: number; readonly down: number };
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  readonly metricsAccess: 'off' | 'key' | 'open';
}

/**
 * What watches over the server asks, at the root of its port: `GET /healthz` whether the process answers, `GET /readyz`
 * whether it should get requests, `GET /metrics` how it is doing.
 */
export function probeRoutes({ whyNotReady, engines, metrics, metricsAccess }: Probes, gate: Gate): Route[] {
  const routes = [
    get('/healthz', async (exchange) => exchange.sendJson(200, { status: 'ok' }, uncached)),
    get('/readyz', async (exchange) => {
      const reason = whyNotReady();
      if (reason === undefined) exchange.sendJson(200, { status: 'ready', engines: engines() }, uncached);
      else exchange.sendJson(503, { status: 'not_ready', reason, engines: engines() }, uncached);
    }),
  ];
  if (metricsAccess === 'off') return routes;
  const answer = get('/metrics', async (exchange) => {
    if (metricsAccess === 'key') await gate.openAdmin(exchange.credentials);
    exchange.sendText(200, metrics.contentType, await metrics.text(), uncached);
  });
  return [...routes, answer];
}

const uncached = { 'cache-control': 'no-store' };

function get(path: string, handle: (exchange: Exchange) => Promise<void>): Route {
  return { rule: { verb: 'GET', path }, handle };
}
