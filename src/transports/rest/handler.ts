import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import FindMyWay from 'find-my-way';
import { toParleyError } from '../../core/errors.ts';
import { logFailure } from '../../core/failure-log.ts';
import { newRequestId } from '../../core/ids.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Log } from '../../core/ports/log.ts';
import type { Tracer } from '../../core/ports/tracer.ts';
import { Exchange } from './exchange.ts';
import type { Route } from './routes.ts';
import { wrongPath } from './wrong-path.ts';

export interface RestHandlerOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly tracer: Tracer;
  readonly requestMsMax: number;
}

export type RequestHandler = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => void;

/** Serves the REST paths; anything else is `not_found` as JSON. */
export function restHandler(routes: readonly Route[], options: RestHandlerOptions): RequestHandler {
  const router = FindMyWay();
  for (const route of routes) {
    const { rule } = route;
    // The router keeps the route as its store: it is run below, not by the router.
    router.on(rule.verb === 'GET' ? ['GET', 'HEAD'] : rule.verb, rule.path, () => undefined, route);
  }
  const { clock, log, tracer, requestMsMax } = options;
  return (request, response) => {
    const exchange = new Exchange(request, response, { id: newRequestId(clock.now()), requestMsMax });
    answer(exchange, router, tracer).catch((error: unknown) => report(exchange, log, error));
  };
}

type Router = FindMyWay.Instance<FindMyWay.HTTPVersion.V1>;

async function answer(exchange: Exchange, router: Router, tracer: Tracer): Promise<void> {
  const found = find(router, exchange.request.method as FindMyWay.HTTPMethod, exchange.path);
  if (found === undefined) {
    throw wrongPath(exchange.path, (verb, path) => find(router, verb, path) !== undefined);
  }
  const { rule, handle } = found.store as Route;
  const span = tracer.span(`${rule.verb} ${rule.path}`, exchange.request.headers);
  await span.run(() => handle(exchange, found.params));
}

function find(router: Router, verb: FindMyWay.HTTPMethod, path: string) {
  const found = router.find(verb, path);
  return found === null || found.params['*'] === '' ? undefined : found;
}

/** The last stop of an error: the caller is told what they can act on, the log what the operator needs. */
function report(exchange: Exchange, log: Log, thrown: unknown): void {
  const error = exchange.signal.aborted ? toParleyError(exchange.signal.reason) : toParleyError(thrown);
  logFailure(log, exchange.id, error);
  exchange.fail(error);
}
