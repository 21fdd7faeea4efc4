/** Opens WebSockets with the rules of other calls: no proxies, no redirects, the same limits on connecting and answering. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { WebSocket } from 'ws';
import type { Signal } from '../../../core/values/signal.ts';
import { ConnectionError } from '../errors.ts';

/** Bytes of one message. The longest has the text of a turn. */
const messageBytesMax = 262_144;
const bounds = { maxPayload: messageBytesMax, maxFragments: 16, maxBufferedChunks: 1_024 };
const closeTimeout = 1_000;

interface SocketOptions {
  readonly url: URL;
  /** The Unix socket to connect to, instead of the host of the URL. */
  readonly socketPath: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds for the connection, and for the answer after it. */
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly onConnect: () => void;
}

/**
 * Resolves with the open socket, paused so that no message is lost, or with the answer that refuses it.
 * @throws ConnectionError, or the signal's reason
 */
export function openWebSocket(options: SocketOptions, signal: Signal): Promise<WebSocket | IncomingMessage> {
  const { url, socketPath, headers, connectMs, firstByteMs } = options;
  const { promise, resolve, reject } = Promise.withResolvers<WebSocket | IncomingMessage>();
  let isConnected = false;
  const late = () =>
    isConnected
      ? fail(new ConnectionError('late', new Error(`no answer within ${firstByteMs} ms`)))
      : fail(new ConnectionError('connecting', new Error(`no connection within ${connectMs} ms`)));
  let timer = setTimeout(late, connectMs);
  const onConnect = () => {
    isConnected = true;
    clearTimeout(timer);
    timer = setTimeout(late, firstByteMs);
    options.onConnect();
  };
  const finishRequest = (request: ClientRequest) => {
    const event = url.protocol === 'wss:' ? 'secureConnect' : 'connect';
    request.once('socket', (connection) => connection.once(event, onConnect)).end();
  };
  const createConnection = socketPath === undefined ? undefined : () => connect(socketPath);
  const socketOptions = {
    ...bounds,
    headers,
    closeTimeout,
    perMessageDeflate: false,
    finishRequest,
    ...(createConnection && { createConnection }),
  };
  const socket = new WebSocket(url, socketOptions);
  const fail = (error: unknown) => {
    reject(error);
    socket.terminate();
  };
  const leave = () => fail(signal.reason);
  socket.once('open', () => {
    socket.pause();
    resolve(socket);
  });
  socket.once('unexpected-response', (_, response) => resolve(response));
  // Nothing can run before the handshake is complete.
  socket.on('error', (error) => reject(new ConnectionError('connecting', error)));
  signal.addEventListener('abort', leave);
  if (signal.aborted) leave();
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
  });
}
