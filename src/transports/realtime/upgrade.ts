/** Opens WebSockets for live sessions. The gate is asked with the headers alone; a refusal is an HTTP answer with JSON. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Sessions } from '../../core/access/sessions.ts';
import type { SessionRpc } from '../../core/rpcs.ts';
import type { Services } from '../../core/services.ts';
import { basePath } from '../../core/values/base-path.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { lastAnswerOf, type UpgradeHandler } from '../http/http1-server.ts';
import { requestHead } from '../request-head.ts';
import { Exchange } from '../rest/exchange.ts';
import { cookieValues, isFromOwnOrigin, openFirst } from '../rest/session-cookies.ts';
import type { SessionPort } from '../rest/session-routes.ts';
import { type CallDeps, ServedCall } from '../run-call.ts';
import { freeBytes } from './event-socket.ts';
import { OpenAiSession } from './openai-session.ts';
import { readUpdate, settingsFor } from './session-settings.ts';

/** The path of OpenAI's Realtime API. */
const realtimePath = `${basePath}/realtime`;
/** LiveKit and pipecat take a base URL as it is, without adding `/realtime`. */
export const realtimePaths = new RegExp(`^${basePath}(/|/realtime)?$`);

/** Bytes of one message: some ten seconds of audio. */
export const messageBytesMax = 1_048_576;
/** With the defaults of ws, 16,000 fragments of a byte hold 505 KB, with these 41. */
export const fragmentsMax = 16;
const bounds = { maxPayload: messageBytesMax, maxFragments: fragmentsMax, maxBufferedChunks: 1_024 };
/** A client that does not answer a ping, or reads nothing of what it is sent, before the next one is gone. */
export const pingEveryMs = 30_000;
const tryAgainLater = 1013;

const protocol = 'realtime';
/** Browsers cannot send headers, so OpenAI's clients send the key as the name of a protocol. */
const keyProtocol = /^openai-insecure-api-key\./;

/**
 * @param rpc the RPC whose operation the gate checks
 * @param pages the sessions of the console, if the port has it
 */
export function realtimeHandler(
  { realtime, clientSecrets }: Pick<Services, 'realtime' | 'clientSecrets'>,
  rpc: SessionRpc,
  deps: CallDeps,
  pages: SessionPort | undefined,
): UpgradeHandler {
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // Never names the protocol that carries the key.
    handleProtocols: (offered) => (offered.has(protocol) ? protocol : false),
    ...bounds,
  });
  const calls = new WeakMap<IncomingMessage, ServedCall>();
  const refuse = (request: IncomingMessage, socket: Socket, error: unknown) => {
    const served = calls.get(request);
    if (served) void new Exchange(request, lastAnswerOf(request, socket), served).fail(error);
  };
  sockets.on('headers', (headers, request) => {
    headers.push(`x-request-id: ${calls.get(request)?.id}`);
  });
  // Without this, ws answers a wrong handshake by itself, and not in JSON.
  sockets.on('wsClientError', ({ message }, socket, request) => {
    const error = new ParleyError('invalid_request_error', {
      message: `This is no WebSocket handshake: ${message}.`,
    });
    refuse(request, socket as Socket, error);
  });
  return (request, socket, head, client) => {
    const headers = withKey(request.headers);
    const served = new ServedCall(requestHead('websocket', client, headers), deps, 'session');
    calls.set(request, served);
    const leave = () => served.close(true);
    socket.once('close', leave);
    socket.on('error', () => socket.destroy());
    const open = async () => {
      const isKeyless = headers.authorization === undefined;
      const session = pages && isKeyless ? await PageSession.open(request, pages) : undefined;
      const short = await clientSecrets.open(headers.authorization);
      const secret = session?.secret ?? short?.secret;
      if (secret !== undefined) headers.authorization = `Bearer ${secret}`;
      await served.open(rpc, `GET ${realtimePath}`);
      if (hasBody(headers)) {
        throw new ParleyError('invalid_request_error', { message: 'A WebSocket handshake has no body.' });
      }
      if (socket.destroyed) throw new ParleyError('request_cancelled');
      const query = new URL(request.url ?? '/', 'http://localhost').searchParams;
      const given = short?.session ?? {};
      if (given['type'] === 'transcription') query.set('intent', 'transcription');
      if (!query.has('model') && typeof given['model'] === 'string') query.set('model', given['model']);
      const isTranscription = query.get('intent') === 'transcription';
      const offered = isTranscription ? undefined : realtime.conversation(query.get('model') ?? undefined);
      const settings = readUpdate(settingsFor(query, offered), given);
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        socket.off('close', leave);
        keepAlive(webSocket, socket);
        countBytes(webSocket, socket, served);
        session?.guard(webSocket);
        void new OpenAiSession(webSocket, settings, served).run(realtime);
      });
    };
    open().catch((error: unknown) => refuse(request, socket, error));
  };
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
}

/** A copy of the headers, with the key that a subprotocol may carry. */
function withKey(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  if (headers.authorization !== undefined) return { ...headers };
  const offered = headers['sec-websocket-protocol']?.split(/\s*,\s*/) ?? [];
  const key = offered.find((name) => keyProtocol.test(name))?.replace(keyProtocol, '');
  return { ...headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) };
}

function keepAlive(webSocket: WebSocket, socket: Socket): void {
  let isAlive = true;
  let writtenBytes = 0;
  webSocket.on('pong', () => {
    isAlive = true;
  });
  const timer = setInterval(() => {
    const isStalled = webSocket.bufferedAmount > 0 && socket.bytesWritten === writtenBytes;
    writtenBytes = socket.bytesWritten;
    if (isStalled) return webSocket.terminate();
    // A pong is not read while audio waits.
    if (webSocket.isPaused) return;
    if (!isAlive) return webSocket.terminate();
    isAlive = false;
    webSocket.ping();
  }, pingEveryMs);
  webSocket.once('close', () => clearInterval(timer));
}

/** Counts a long message with the bodies in memory, from its first bytes until the session has handled it. */
function countBytes(webSocket: WebSocket, socket: Socket, served: ServedCall): void {
  let unfinishedBytes = 0;
  socket.prependListener('data', ({ length }: Buffer) => {
    unfinishedBytes += length;
    if (unfinishedBytes <= freeBytes || served.body.tryAdmit(messageBytesMax)) return;
    webSocket.close(tryAgainLater, 'overloaded');
    socket.destroySoon();
  });
  webSocket.prependListener('message', () => {
    unfinishedBytes = 0;
  });
}

/** How often an open connection checks that nobody has signed out. */
const checkEveryMs = 10_000;
const policyViolation = 1008;

/** A session of the console on a WebSocket: its cookie stands for the key, and the connection ends with it. */
class PageSession {
  readonly secret: string;
  readonly #sessions: Sessions;
  #token: string;

  private constructor(sessions: Sessions, secret: string, token: string) {
    this.#sessions = sessions;
    this.secret = secret;
    this.#token = token;
  }

  /** Undefined without a live session, or if another page opens the connection: cookies alone do not distinguish pages. */
  static async open({ headers }: IncomingMessage, port: SessionPort): Promise<PageSession | undefined> {
    if (!isFromOwnOrigin(headers)) return undefined;
    const session = await openFirst(port.sessions, cookieValues({ headers }, port.cookie));
    return session && new PageSession(port.sessions, session.secret, session.token);
  }

  /** Closes the connection soon after somebody has signed out of the session. */
  guard(webSocket: WebSocket): void {
    const timer = setInterval(() => {
      this.#isLive().then(
        (isLive) => isLive || webSocket.close(policyViolation, 'invalid_api_key'),
        // A database that does not answer ends nothing.
        () => undefined,
      );
    }, checkEveryMs);
    webSocket.once('close', () => clearInterval(timer));
  }

  /** An open connection keeps its session in use. */
  async #isLive(): Promise<boolean> {
    const session = await this.#sessions.open(this.#token);
    this.#token = session?.renewed?.token ?? this.#token;
    return session !== undefined;
  }
}
