import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Readable, Writable } from 'node:stream';
import type { Credentials } from '../../core/access/gate.ts';
import { Deadline } from '../../core/deadline.ts';
import { ParleyError, toParleyError } from '../../core/errors.ts';
import type { RequestId } from '../../core/ids.ts';
import { errorBody, errorHeaders } from './errors.ts';

/** So much text is sent before the turn is over. */
const gatheredCharactersMax = 16_384;
/** How long the rest of a refused body is read away, so that its client comes to read the answer. */
const drainMsMax = 5_000;

/** What a request of HTTP/1.1 and one of HTTP/2 have in common. */
export interface HttpRequest extends Readable {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
  /** Whether all of it has come. */
  readonly complete: boolean;
}

/** The same of a response. */
interface HttpResponse extends Writable {
  readonly headersSent: boolean;
  writeHead(status: number, headers: Record<string, string | number>): unknown;
  writeContinue(): void;
}

export interface ExchangeOptions {
  readonly id: RequestId;
  /** The time the whole request may take; then it ends with `overloaded`. */
  readonly requestMsMax: number;
}

/** One HTTP request and its answer. */
export class Exchange {
  readonly id: RequestId;
  readonly request: HttpRequest;
  /** The path without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly #response: HttpResponse;
  readonly #clock: Deadline;
  /** Texts that wait for the end of the turn: each on its own would be a chunk, of HTTP/1 or of HTTP/2. */
  #gathered = '';

  constructor(
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
    options: ExchangeOptions,
  ) {
    this.id = options.id;
    this.request = request;
    this.#response = response;
    const [path = '', query] = splitOnce(request.url ?? '/', '?');
    this.path = path;
    this.query = new URLSearchParams(query);
    response.once('close', () => this.#close());
    this.#clock = new Deadline(options.requestMsMax);
  }

  /** Aborts when the client has left or the time is up; its reason is a ParleyError. */
  get signal(): AbortSignal {
    return this.#clock.signal;
  }

  get credentials(): Credentials {
    const { headers, socket } = this.request;
    return { wire: 'rest', authorization: headers.authorization, address: socket.remoteAddress ?? '' };
  }

  get idempotencyKey(): string | undefined {
    const key = this.request.headers['idempotency-key'];
    return typeof key === 'string' ? key : undefined;
  }

  /** Lets a client that asked with `Expect: 100-continue` send its body. */
  acceptBody(): void {
    if (this.request.headers.expect?.toLowerCase() === '100-continue') this.#response.writeContinue();
  }

  sendJson(status: number, body: unknown, headers: Record<string, string> = {}): void {
    this.sendText(status, 'application/json', JSON.stringify(body), headers);
  }

  sendText(status: number, contentType: string, text: string, headers: Record<string, string> = {}): void {
    this.#response.writeHead(status, {
      'x-request-id': this.id,
      ...headers,
      'content-type': contentType,
      'content-length': Buffer.byteLength(text),
    });
    // As text it goes out in one piece with the head.
    this.#response.end(text);
    this.#drainRequest();
  }

  /** Begins an answer in parts. */
  begin(headers: Record<string, string>): void {
    this.#response.writeHead(200, { 'x-request-id': this.id, ...headers });
  }

  /** Sends a part; resolves when the client has room for more. Texts of one turn leave together. */
  async write(part: string | Uint8Array): Promise<void> {
    if (typeof part === 'string') {
      this.#gather(part);
    } else {
      this.#release();
      this.#response.write(part);
    }
    if (this.#response.destroyed || this.#response.writableNeedDrain) await this.#drained();
  }

  end(): void {
    this.#release();
    this.#response.end();
    this.#drainRequest();
  }

  /** Answers with an error where the answer has not begun; else cuts the connection, so that no end looks clean. */
  fail(thrown: unknown): void {
    const error = toParleyError(thrown);
    if (this.#response.headersSent) this.#cut();
    else this.sendJson(error.httpStatus, errorBody(error), errorHeaders(error));
  }

  #gather(text: string): void {
    // It runs when nothing is left to do at once: an answer whose events come one by one is not held back.
    if (this.#gathered === '') process.nextTick(() => this.#release());
    this.#gathered += text;
    if (this.#gathered.length >= gatheredCharactersMax) this.#release();
  }

  #release(): void {
    const text = this.#gathered;
    this.#gathered = '';
    if (text !== '' && !this.#response.destroyed) this.#response.write(text);
  }

  /** Ends the answer so that no client can take it for whole. */
  #cut(): void {
    const response = this.#response;
    if (response instanceof Http2ServerResponse) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else response.destroy();
  }

  /** How long a client may take nothing is for the port to watch. */
  #drained(): Promise<void> {
    return new Promise((resolve, reject) => {
      const response = this.#response;
      const { signal } = this;
      const settle = (then: () => void) => () => {
        response.off('drain', onDrain);
        response.off('close', onLeft);
        signal.removeEventListener('abort', onLeft);
        then();
      };
      const onDrain = settle(resolve);
      // Who is still behind when the time is up has left, and pays for what was sent.
      const onLeft = settle(() => reject(new ParleyError('request_cancelled')));
      response.once('drain', onDrain);
      response.once('close', onLeft);
      signal.addEventListener('abort', onLeft);
      if (response.destroyed || signal.aborted) onLeft();
    });
  }

  #drainRequest(): void {
    const { request } = this;
    if (request.complete) return;
    const timer = setTimeout(() => request.destroy(), drainMsMax);
    request.once('close', () => clearTimeout(timer));
    request.resume();
  }

  #close(): void {
    // What was ended has its record; over HTTP/2 an answer that broke off says that it is finished, too.
    if (!this.#response.writableEnded) this.#clock.cancel();
    this.#clock.stop();
  }
}

function splitOnce(text: string, separator: string): [string, string] {
  const index = text.indexOf(separator);
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)];
}
