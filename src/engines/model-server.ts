/** The HTTP server of a program that serves one model by the OpenAI API, for the engine that supervises it. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorTable, ParleyError, toParleyError } from '../core/values/errors.ts';

export interface ServeOptions {
  readonly socketPath: string;
  /** The library of the model's runtime, or the folder in which it is installed. */
  readonly runtime: string;
  readonly threads: number;
  /** Calls that Parley makes at once. */
  readonly callsMax: number;
  /** Tokens of a chat's prompt and answer together. */
  readonly contextTokens: number;
}

/** More than Parley accepts from a client. */
const bodyBytesMax = 32 * 1024 ** 2;

/** An answer in the form of the OpenAI API. */
export interface Answer {
  readonly contentType: string;
  readonly body: AsyncIterable<Uint8Array | string> | Iterable<string>;
}

export type Handle = (request: Request, signal: AbortSignal) => Promise<Answer>;

/** Answers calls at one path, and `/health`. */
export function createModelServer(path: string, handle: Handle): Server {
  return createServer((request, response) => {
    if (request.url === '/health') response.end();
    else if (request.method === 'POST' && request.url === path) void serve(handle, request, response);
    else response.writeHead(404).end();
  });
}

/** Runs work one after the other, as each uses all threads of the model. Requests take turns. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const next = this.#last.then(work);
    this.#last = next.catch(() => undefined);
    return next;
  }
}

async function serve(handle: Handle, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const stop = new AbortController();
  response.once('close', () => stop.abort(new ParleyError('request_cancelled')));
  try {
    const { contentType, body } = await handle(await bodyOf(request), stop.signal);
    await send(response, contentType, body);
  } catch (error) {
    refuse(response, toParleyError(error));
  }
}

/** Sends the head with the first bytes, so that an earlier failure is an error and no broken answer. */
async function send(response: ServerResponse, contentType: string, body: Answer['body']): Promise<void> {
  async function* withHead() {
    for await (const bytes of body) {
      if (!response.headersSent) response.writeHead(200, { 'content-type': contentType });
      yield bytes;
    }
  }
  await pipeline(Readable.from(withHead()), response);
}

function refuse(response: ServerResponse, { code, message, param, cause }: ParleyError): void {
  if (cause !== undefined) process.stderr.write(`${cause instanceof Error ? cause.message : cause}\n`);
  if (response.headersSent || response.destroyed) return void response.destroy();
  response.writeHead(errorTable[code].http, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { code, message, param } }));
}

async function bodyOf(request: IncomingMessage): Promise<Request> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > bodyBytesMax) throw new ParleyError('payload_too_large');
    parts.push(part);
  }
  const headers = { 'content-type': request.headers['content-type'] ?? '' };
  return new Request('http://localhost', { method: 'POST', headers, body: Buffer.concat(parts) });
}
