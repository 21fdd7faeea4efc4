import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Readable, Writable } from 'node:stream';
import { basePath } from '../../core/values/base-path.ts';
import type { ParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';
import { drained } from '../drained.ts';
import { drainBody } from '../http/drain-body.ts';
import { noSniff } from '../http/no-sniff.ts';
import { pathOf } from '../request-head.ts';
import type { ServedCall } from '../run-call.ts';
import { errorBody, errorHeaders, messageErrorBody } from './errors.ts';

const messagesPath = `${basePath}/messages`;

/** Flush threshold, in characters. */
const gatheredCharactersMax = 16_384;

export interface HttpRequest extends Readable {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Whether the whole body has arrived. */
  readonly complete: boolean;
}

interface HttpResponse extends Writable {
  readonly headersSent: boolean;
  /** @param headers names and values in turn */
  writeHead(status: number, headers: string[]): unknown;
  writeContinue(): void;
}

/** Path parameters by their names in the router: `account_id`, or `*` for the rest of a path. */
export type PathParameters = Readonly<Record<string, string | undefined>>;
export type RestHandler = (exchange: Exchange, parameters: PathParameters) => Promise<void>;

/** One HTTP request with its response. */
export class Exchange {
  readonly served: ServedCall;
  readonly request: HttpRequest;
  readonly path: string;
  readonly #query: string;
  readonly #response: HttpResponse;
  /**
   * Texts written in this turn of the event loop, sent together, since each write is an HTTP chunk or frame of its own.
   */
  #gathered = '';

  constructor(
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
    served: ServedCall,
  ) {
    this.served = served;
    this.request = request;
    this.#response = response;
    this.path = pathOf(request.url);
    this.#query = request.url?.slice(this.path.length + 1) ?? '';
    response.on('close', () => this.#close());
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.#query);
  }

  /** Aborts when the client leaves or the deadline passes. Its reason is a ParleyError. */
  get signal(): Signal {
    return this.served.signal;
  }

  /** Lets a client that asked with `Expect: 100-continue` send its body. */
  acceptBody(): void {
    if (this.request.headers.expect?.toLowerCase() === '100-continue') this.#response.writeContinue();
  }

  sendJson(status: number, body: unknown, headers: Record<string, string> = {}): void {
    this.sendText(status, 'application/json', JSON.stringify(body), headers);
  }

  sendText(
    status: number,
    contentType: string,
    text: string | Buffer,
    headers: Record<string, string> = {},
  ): void {
    const head = this.#head(headers);
    head.push('content-type', contentType, 'content-length', String(Buffer.byteLength(text)));
    this.#response.writeHead(status, head);
    // Node sends a string in one write with the head.
    this.#response.end(text);
    drainBody(this.request);
  }

  begin(headers: Record<string, string>): void {
    this.#response.writeHead(200, this.#head(headers));
  }

  /** The headers of every answer, and these. */
  #head(headers: Readonly<Record<string, string>>): string[] {
    const head: string[] = [...noSniff, 'x-request-id', this.served.id];
    for (const more of [this.served.rateHeaders, this.served.answerHeaders, headers]) {
      for (const name in more) head.push(name, more[name] ?? '');
    }
    return head;
  }

  /** Sends a part; resolves when the client has room for more. Texts written in one turn leave together. */
  async write(part: string | Uint8Array): Promise<void> {
    if (typeof part === 'string') {
      this.#gather(part);
    } else {
      this.#release();
      this.#response.write(part);
    }
    const response = this.#response;
    if (response.destroyed || response.writableNeedDrain) await drained(response, this.signal);
  }

  end(): void {
    this.#release();
    this.#response.end();
    drainBody(this.request);
  }

  /** Answers with an error. If the answer has begun, resets the connection, so that the end does not look clean. */
  fail(thrown: unknown): void {
    const error = this.served.errorOf(thrown);
    if (this.#response.headersSent) this.#cut();
    else this.sendJson(error.httpStatus, this.errorBody(error), errorHeaders(error));
  }

  /** The body of an error, in the shape of the path's API. */
  errorBody(error: ParleyError): object {
    const isOfMessages = this.path === messagesPath || this.path.startsWith(`${messagesPath}/`);
    return isOfMessages ? messageErrorBody(error, this.served.id) : errorBody(error);
  }

  #gather(text: string): void {
    // Runs at the end of the turn, so that a single event is not held back.
    if (this.#gathered === '') process.nextTick(() => this.#release());
    this.#gathered += text;
    if (this.#gathered.length >= gatheredCharactersMax) this.#release();
  }

  #release(): void {
    const text = this.#gathered;
    this.#gathered = '';
    if (text !== '' && !this.#response.destroyed) this.#response.write(text);
  }

  /** Resets the connection or stream, so that no client takes the answer for complete. */
  #cut(): void {
    const response = this.#response;
    if (response instanceof Http2ServerResponse) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else response.destroy();
  }

  #close(): void {
    // `finish` is not enough, as HTTP/2 also emits it for a broken answer.
    this.served.close(!this.#response.writableEnded);
  }
}
