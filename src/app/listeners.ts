/** The ports of a server, and the wires on each: REST, and the RPCs over gRPC, Connect and gRPC-Web. */
import type { Config } from '../config/config.ts';
import type { Gate } from '../core/access/gate.ts';
import { basePath } from '../core/base-path.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Log } from '../core/ports/log.ts';
import type { Tracer } from '../core/ports/tracer.ts';
import { rpcsOf } from '../core/rpcs.ts';
import type { Services } from '../core/services.ts';
import { createConnectHandler } from '../transports/connect/routes.ts';
import { createGrpcHandler } from '../transports/grpc/routes.ts';
import { withCors } from '../transports/http/cors.ts';
import { type PortHandler, startServer } from '../transports/http/server.ts';
import type { TlsPair } from '../transports/http/tls-pair.ts';
import { restHandler } from '../transports/rest/handler.ts';
import { type Probes, probeRoutes } from '../transports/rest/probe-routes.ts';
import { restRoutes } from '../transports/rest/routes.ts';
import { openRpcs } from '../transports/rpc/open-rpcs.ts';

export interface Wiring {
  readonly config: Config;
  readonly services: Services;
  readonly gate: Gate;
  readonly clock: Clock;
  readonly log: Log;
  readonly tls: TlsPair | undefined;
  readonly tracer: Tracer;
  readonly probes: Probes;
}

/** Whom a port serves. */
type Audience = 'all' | 'clients' | 'admins';

interface Port {
  readonly baseUrl: string;
  /** Says over the health of the RPCs that no more requests should come; they are served all the same. */
  leave(): void;
  /** Lets requests in flight finish. */
  close(): Promise<void>;
}

export interface Ports {
  readonly baseUrl: string;
  /** That of the port for administration, where there is one; else the same. */
  readonly adminBaseUrl: string;
  leave(): void;
  close(): Promise<void>;
}

/** Listens. Rejects where an address cannot be had; then nothing listens. */
export async function openPorts(wiring: Wiring): Promise<Ports> {
  const { server, admin } = wiring.config;
  const main = await openPort(wiring, server, admin ? 'clients' : 'all');
  if (admin === undefined) return { ...main, adminBaseUrl: main.baseUrl };
  try {
    const other = await openPort(wiring, admin, 'admins');
    return {
      baseUrl: main.baseUrl,
      adminBaseUrl: other.baseUrl,
      leave: () => {
        main.leave();
        other.leave();
      },
      close: async () => {
        await Promise.all([main.close(), other.close()]);
      },
    };
  } catch (error) {
    await main.close();
    throw error;
  }
}

async function openPort(
  wiring: Wiring,
  { host, port }: { readonly host: string; readonly port: number },
  audience: Audience,
): Promise<Port> {
  const { server: limits } = wiring.config;
  const { health, ...edges } = openEdges(wiring, audience);
  const server = await startServer({ host, port, limits, tls: wiring.tls, ...edges });
  const leave = () => health.drain();
  const close = () => {
    leave();
    return server.close(limits.drainMs);
  };
  return { baseUrl: server.origin + basePath, leave, close };
}

/** The wires: REST, and the RPCs over gRPC, Connect and gRPC-Web. */
function openEdges({ config, services, probes, ...shared }: Wiring, audience: Audience) {
  const { server, limits } = config;
  const deps = { ...shared, requestMsMax: server.requestMsMax };
  const isServed = (isAdmin: boolean) => audience === 'all' || isAdmin === (audience === 'admins');
  const routes = restRoutes(services, shared.gate, limits).filter(({ rule }) =>
    isServed(rule.path.startsWith(`${basePath}/admin/`)),
  );
  // Who must not administer at a port must not read its metrics either.
  const shown = audience === 'clients' ? { ...probes, metricsAccess: 'off' as const } : probes;
  const rest = restHandler([...routes, ...probeRoutes(shown, shared.gate)], deps);
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
  return {
    handle: withCors(config.cors.origins, handle),
    grpc: createGrpcHandler(rpcs, rpcLimits, deps),
    health,
  };
}
