import { on, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { create } from '@bufbuild/protobuf';
import { type RawData, WebSocket } from 'ws';
import { ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { CliError, ServerError } from '../terminal/command.ts';
import { failedCall } from './failed-call.ts';

/** An event of the server. Its members are those of OpenAI's protocol. */
export interface RealtimeEvent {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: the protocol has no schema here, and the server is our own.
  readonly [member: string]: any;
}

export class RealtimeConnection {
  readonly #socket: WebSocket;
  readonly #baseUrl: string;
  readonly #messages: AsyncIterable<[RawData]>;

  private constructor(socket: WebSocket, baseUrl: string) {
    this.#socket = socket;
    this.#baseUrl = baseUrl;
    // Events may arrive before anybody waits for them.
    this.#messages = on(socket, 'message', { close: ['close'] }) as AsyncIterable<[RawData]>;
  }

  /**
   * @param baseUrl with the version prefix
   * @param query such as `model=ID`
   * @throws ServerError, CliError
   */
  static async open(
    { baseUrl, key }: { readonly baseUrl: string; readonly key: string },
    query: string,
    signal: AbortSignal,
  ): Promise<RealtimeConnection> {
    const url = `${baseUrl.replace(/^http/, 'ws')}/realtime?${query}`;
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${key}` } });
    signal.addEventListener('abort', () => socket.terminate(), { once: true });
    const refused = new Promise<never>((_, reject) => {
      socket.once('unexpected-response', (__, response) => reject(refusalOf(response)));
      socket.on('error', reject);
    });
    const connection = new RealtimeConnection(socket, baseUrl);
    try {
      await Promise.race([once(socket, 'open', { signal }), refused]);
      return connection;
    } catch (error) {
      signal.throwIfAborted();
      const reason = await error;
      throw reason instanceof CliError ? reason : failedCall(reason, baseUrl);
    }
  }

  /** Resolves once the event is written. */
  send(event: object): Promise<void> {
    return new Promise((resolve) => this.#socket.send(JSON.stringify(event), () => resolve()));
  }

  /** The events, until either side closes the connection. @throws CliError */
  async *events(): AsyncGenerator<RealtimeEvent> {
    try {
      for await (const [data] of this.#messages) yield JSON.parse(String(data));
    } catch (error) {
      throw failedCall(error, this.#baseUrl, true);
    } finally {
      this.close();
    }
  }

  close(): void {
    this.#socket.close();
  }
}

async function refusalOf(response: IncomingMessage): Promise<unknown> {
  try {
    const { error } = (await json(response)) as { error: { message: string; code: string } };
    const metadata = { request_id: String(response.headers['x-request-id']) };
    return new ServerError(error.message, create(ErrorInfoSchema, { reason: error.code, metadata }));
  } catch {
    return new Error(`HTTP ${response.statusCode}`);
  }
}
