import FindMyWay from 'find-my-way';
import type { PortHandler } from '../http/server.ts';
import { pathOf, requestHead } from '../request-head.ts';
import { type CallDeps, ServedCall } from '../run-call.ts';
import { Exchange } from './exchange.ts';
import type { Route } from './routes.ts';
import { type ServedPaths, wrongPath } from './wrong-path.ts';

/**
 * Serves the REST paths. Any other path is answered with `not_found` as JSON.
 * @param pages for browsers; the advice for a wrong path does not list them
 * @param rpcs refuses requests for a wrong path that are meant for RPCs
 */
export function restHandler(
  routes: readonly Route[],
  pages: readonly Route[],
  rpcs: { readonly areMeantBy: (request: Request) => boolean; readonly refuse: PortHandler },
  deps: CallDeps,
): PortHandler {
  const router = FindMyWay();
  for (const route of [...routes, ...pages]) {
    const { rule } = route;
    // The router only finds routes; each is kept in its `store`.
    const named: NamedRoute = { ...route, name: `${rule.verb} ${rule.path}` };
    router.on(rule.verb === 'GET' ? ['GET', 'HEAD'] : rule.verb, rule.path, () => undefined, named);
  }
  const served: ServedPaths = {
    isServed: (verb, path) => find(router, verb, path, (route) => route.isFor === undefined) !== undefined,
    listed: routes.map(({ rule }) => `${rule.verb} ${readablePath(rule.path)}`),
  };
  return (request, response, client) => {
    const { headers, method, url } = request;
    const isFor = (route: Route) => route.isFor?.(request) ?? true;
    const found = find(router, method as FindMyWay.HTTPMethod, pathOf(url), isFor);
    if (found === undefined && rpcs.areMeantBy(request)) return rpcs.refuse(request, response, client);
    const call = new ServedCall(requestHead('rest', client, headers), deps);
    const exchange = new Exchange(request, response, call);
    answer(exchange, found, served).catch((error: unknown) => exchange.fail(error));
  };
}

/** A route with the name of its operation in traces. */
type NamedRoute = Route & { readonly name: string };

type Router = FindMyWay.Instance<FindMyWay.HTTPVersion.V1>;
type Found = ReturnType<typeof find>;
type Request = Parameters<PortHandler>[0];

async function answer(exchange: Exchange, found: Found, served: ServedPaths): Promise<void> {
  if (found === undefined) return exchange.served.refuseUnserved(wrongPath(exchange.path, served));
  const { name, rpc, handle, handleKeyless } = found.store as NamedRoute;
  if (handleKeyless && exchange.request.headers.authorization === undefined) {
    return handleKeyless(exchange, found.params);
  }
  const opening = rpc && exchange.served.open(rpc, name);
  if (opening) await opening;
  await handle(exchange, found.params);
}

function find(router: Router, verb: FindMyWay.HTTPMethod, path: string, isFor: (route: Route) => boolean) {
  const found = router.find(verb, path);
  return found === null || found.params['*'] === '' || !isFor(found.store as Route) ? undefined : found;
}

/** People may also write `/api/v1/keys/:key/rotate`. */
function readablePath(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}').replace('*', '{id}');
}
