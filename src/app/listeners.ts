/** The ports of a server. REST, gRPC, Connect and gRPC-Web share each port. */
import type { Config } from '../config/config.ts';
import { sessionLimits } from '../core/realtime/session-timers.ts';
import { allRpcs, type Rpc, rpcTable } from '../core/rpcs.ts';
import type { Services } from '../core/services.ts';
import { basePath } from '../core/values/base-path.ts';
import { requestTimeLimit } from '../core/values/signal.ts';
import { rawAudio } from '../engines/live-media.ts';
import { createConnectHandler } from '../transports/connect/routes.ts';
import { meantForRpcs } from '../transports/connect/wrong-path.ts';
import { createGrpcHandler } from '../transports/grpc/routes.ts';
import { withCors } from '../transports/http/cors.ts';
import { type PortHandler, type ServerOptions, startServer } from '../transports/http/server.ts';
import { realtimeHandler, realtimePaths } from '../transports/realtime/upgrade.ts';
import { pathOf, takeKeyHeader } from '../transports/request-head.ts';
import { restHandler } from '../transports/rest/handler.ts';
import { type PageFiles, pageRoutes } from '../transports/rest/page-routes.ts';
import { probeRoutes, withOpenVoices } from '../transports/rest/probe-routes.ts';
import { restRoutes } from '../transports/rest/routes.ts';
import { withSessions } from '../transports/rest/session-cookies.ts';
import { type SessionPort, sessionRoutes } from '../transports/rest/session-routes.ts';
import { signInRoutes } from '../transports/rest/sign-in-routes.ts';
import { rivaRpcs } from '../transports/riva/rpcs.ts';
import { openRpcs } from '../transports/rpc/open-rpcs.ts';
import { rpcPath } from '../transports/rpc/rpcs.ts';
import type { Access } from './access.ts';
import type { Base } from './base.ts';
import type { Offer } from './offer.ts';
import { PortError } from './port-error.ts';

interface Wiring {
  readonly config: Config;
  readonly base: Base;
  readonly offer: Offer;
  readonly services: Services;
  readonly access: Access;
  /** The files for browsers, by path. */
  readonly pages: PageFiles;
  readonly sockets: ListeningSockets;
}

/** File descriptors of TCP sockets from the service manager, which replace the configured addresses. */
export interface ListeningSockets {
  readonly main?: number;
  readonly admin?: number;
}

type Audience = 'all' | 'clients' | 'admins';

/** The sessions of each audience. */
const audiences: Readonly<Record<Audience, Pick<SessionPort, 'cookie' | 'kinds'>>> = {
  all: { cookie: 'parley_session', kinds: ['account', 'admin'] },
  clients: { cookie: 'parley_session', kinds: ['account'] },
  admins: { cookie: 'parley_admin_session', kinds: ['admin'] },
};

interface Port {
  readonly baseUrl: string;
  /** Makes every answer over HTTP/1 close its connection. Requests are still served. */
  leave(): void;
  /** Waits for running requests. */
  close(): Promise<void>;
}

interface Ports extends Port {
  /** The base URL of the admin port; the same as `baseUrl` if there is none. */
  readonly adminBaseUrl: string;
}

/** Listens on all ports. Rejects if an address cannot be bound; then none is open. */
export async function openPorts(wiring: Wiring): Promise<Ports> {
  const { sockets } = wiring;
  const { server, admin } = wiring.config;
  const main = await openPort(wiring, { ...server, fd: sockets.main }, admin ? 'clients' : 'all');
  if (admin === undefined) return { ...main, adminBaseUrl: main.baseUrl };
  try {
    const other = await openPort(wiring, { ...admin, fd: sockets.admin }, 'admins');
    const both = [main, other];
    return {
      baseUrl: main.baseUrl,
      adminBaseUrl: other.baseUrl,
      leave: () => {
        for (const port of both) port.leave();
      },
      close: async () => {
        await Promise.all(both.map((port) => port.close()));
      },
    };
  } catch (error) {
    await main.close();
    throw error;
  }
}

async function openPort(
  wiring: Wiring,
  address: Pick<ServerOptions, 'host' | 'port' | 'fd'>,
  audience: Audience,
): Promise<Port> {
  const { server: limits } = wiring.config;
  const transports = openTransports(wiring, audience);
  const { host, port, fd } = address;
  const options = { host, port, fd, limits, tls: wiring.base.tls, ...transports };
  const fail = (error: unknown) => Promise.reject(new PortError(audience === 'admins', error));
  const server = await startServer(options).catch(fail);
  const leave = () => server.leave();
  const close = () => server.close(limits.drainMs);
  return { baseUrl: server.origin + basePath, leave, close };
}

/** The transports of a port, all made from the one table of RPCs, and Riva's RPCs. */
function openTransports(wiring: Wiring, audience: Audience) {
  const { config, base, offer, services, access, pages } = wiring;
  const { clock, log, tracer, readiness } = base;
  const { bytes, engines, metrics } = offer;
  const { gate, sessions, signIn } = access;
  const { server, limits } = config;
  const { requestMsMax } = server;
  const deps = {
    gate,
    clock,
    log,
    tracer,
    bytes,
    timeLimit: requestTimeLimit(requestMsMax),
    sessionTimeLimit: requestTimeLimit(sessionLimits.sessionMsMax + requestMsMax),
  };
  const isServed = ({ kind }: Rpc) => audience === 'all' || (kind === 'admin') === (audience === 'admins');
  const table = rpcTable(services);
  // A port without administration does not show its metrics either.
  const metricsAccess = audience === 'clients' ? 'off' : config.metrics.access;
  const probes = { readiness, engines: () => engines.counts(), metrics, metricsAccess };
  const areVoicesOpen = config.voices.access === 'open';
  const restTable = areVoicesOpen ? withOpenVoices(table, services) : table;
  const sessionPort = sessions && { sessions, provider: signIn?.name, ...audiences[audience] };
  const all = [...allRpcs(table), ...rivaRpcs(services, rawAudio, { areVoicesOpen })];
  const served = all.filter(isServed);
  const rpcs = [...served, ...openRpcs(served, readiness)];
  const rpcLimits = {
    messageBytesMax: limits.rpcMessageBytesMax,
    requestElementsMax: limits.requestElementsMax,
  };
  const connect = createConnectHandler(rpcs, rpcLimits, deps);
  const overRest = restHandler(
    [...restRoutes(restTable, limits, isServed), ...probeRoutes(probes)],
    [
      ...pageRoutes(pages),
      ...(sessionPort ? sessionRoutes(sessionPort) : []),
      ...(sessionPort && signIn ? signInRoutes(sessionPort, signIn) : []),
    ],
    { areMeantBy: meantForRpcs([...all, ...rpcs]), refuse: connect },
    deps,
  );
  const paths = new Set(rpcs.map(rpcPath));
  const handle: PortHandler = (request, ...rest) =>
    (paths.has(pathOf(request.url)) ? connect : overRest)(request, ...rest);
  const opened = sessionPort ? withSessions(sessionPort.sessions, sessionPort.cookie, handle) : handle;
  const keyed: PortHandler = (request, ...rest) => {
    takeKeyHeader(request.headers);
    opened(request, ...rest);
  };
  return {
    handle: withCors(config.cors.origins, keyed),
    grpc: createGrpcHandler(rpcs, rpcLimits, deps),
    upgrade:
      audience === 'admins'
        ? undefined
        : {
            paths: realtimePaths,
            take: realtimeHandler(services, table.streamTranscribe, deps, sessionPort),
          },
  };
}
