/** Calls to a server with the generated clients, over Connect. */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { DescService } from '@bufbuild/protobuf';
import {
  type CallOptions,
  type Client,
  createClient,
  type Interceptor,
  type Transport,
} from '@connectrpc/connect';
import { keyFlaw } from '../../core/access/key-flaws.ts';
import { basePath } from '../../core/values/base-path.ts';
import { CliError } from '../terminal/command.ts';
import { failedCall, withAdvice } from './failed-call.ts';
import type { RealtimeConnection } from './realtime-connection.ts';

export interface Server {
  /** Ends in the version prefix, without a trailing slash. */
  readonly baseUrl: string;
  readonly key: string;
}

/** Longer than a server's default limit for a request. */
const callMsMax = 15 * 60_000;
const connectMsMax = 10_000;

export class ServerConnection {
  readonly #server: Server;
  #transport: Promise<Transport> | undefined;

  /**
   * Ignores white space around the key.
   * @throws CliError if it is not a valid key for another reason
   */
  constructor({ baseUrl, key: given }: Server) {
    const key = given.trim();
    const flaw = keyFlaw(key);
    if (flaw !== undefined) throw new CliError(withAdvice(`The key ${flaw}.`, 'send_key', undefined));
    this.#server = { baseUrl, key };
  }

  /** @throws ServerError, CliError, or the signal's reason once it aborts */
  async call<S extends DescService, T>(
    service: S,
    run: (client: Client<S>, options: CallOptions) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    try {
      return await run(createClient(service, await this.#connect()), signal ? { signal } : {});
    } catch (error) {
      signal?.throwIfAborted();
      throw failedCall(error, this.#server.baseUrl);
    }
  }

  /** Opens a session of the Realtime API. @throws ServerError, CliError, or the signal's reason once it aborts */
  async openRealtime(query: string, signal: AbortSignal): Promise<RealtimeConnection> {
    const { RealtimeConnection } = await import('./realtime-connection.ts');
    return RealtimeConnection.open(this.#server, query, signal);
  }

  /**
   * The messages of a response, as they arrive.
   * @param open default: Connect. Over gRPC the client can go on sending meanwhile.
   * @throws the errors of `call`
   */
  async *stream<S extends DescService, T>(
    service: S,
    run: (client: Client<S>, options: CallOptions) => AsyncIterable<T>,
    signal: AbortSignal,
    open?: typeof openGrpc,
  ): AsyncGenerator<T> {
    const client = createClient(service, await (open?.(this.#server) ?? this.#connect()));
    // A reader that stops early ends the request, too.
    const left = new AbortController();
    const options = { signal: AbortSignal.any([signal, left.signal]) };
    let hasBegun = false;
    try {
      for await (const message of run(client, options)) {
        hasBegun = true;
        yield message;
      }
    } catch (error) {
      signal.throwIfAborted();
      throw failedCall(error, this.#server.baseUrl, hasBegun);
    } finally {
      left.abort();
    }
  }

  #connect(): Promise<Transport> {
    this.#transport ??= openConnect(this.#server);
    return this.#transport;
  }
}

async function openConnect(server: Server): Promise<Transport> {
  // Loaded only for a call: most of an operator's commands need none, and start faster without it.
  const { createConnectTransport } = await import('@connectrpc/connect-node');
  return createConnectTransport({
    ...shared(server),
    httpVersion: '1.1',
    nodeOptions: { agent: agentFor(server.baseUrl) },
    defaultTimeoutMs: callMsMax,
  });
}

export async function openGrpc(server: Server): Promise<Transport> {
  const { createGrpcTransport } = await import('@connectrpc/connect-node');
  return createGrpcTransport(shared(server));
}

function shared({ baseUrl, key }: Server) {
  const authorize: Interceptor = (next) => (request) => {
    request.header.set('authorization', `Bearer ${key}`);
    return next(request);
  };
  return {
    // The services are beside the REST API, at the root of the same port.
    baseUrl: baseUrl.endsWith(basePath) ? baseUrl.slice(0, -basePath.length) : baseUrl,
    // No compression, as audio does not get smaller.
    acceptCompression: [],
    interceptors: [authorize],
  };
}

/** Gives up on an address that does not answer, for which Node would wait for minutes. */
function agentFor(baseUrl: string): HttpAgent {
  const agent = baseUrl.startsWith('https:')
    ? new HttpsAgent({ keepAlive: true })
    : new HttpAgent({ keepAlive: true });
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, connected) => {
    const socket = connect(options, connected);
    const timer = setTimeout(() => socket?.destroy(new ConnectTimeout()), connectMsMax);
    socket?.once('connect', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
    return socket;
  };
  return agent;
}

class ConnectTimeout extends Error {
  readonly code = 'ETIMEDOUT';
}
