/** HTTP calls to a server, with everything that can go wrong in words. */
import { text } from 'node:stream/consumers';
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { Agent, Dispatcher } from 'undici';
import { z } from 'zod';
import { systemCode } from '../../files/reason.ts';
import { CliError } from '../terminal/cli-error.ts';

export interface Server {
  /** Version prefix included, no slash at its end. */
  readonly baseUrl: string;
  readonly key: string;
}

export interface ServerCall {
  readonly verb: 'GET' | 'POST';
  /** Below the base URL, a slash first. */
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly json?: JsonObject;
  readonly form?: readonly FormPart[];
  readonly signal?: AbortSignal | undefined;
}

export interface FormPart {
  readonly name: string;
  readonly value: string | Uint8Array<ArrayBuffer>;
  /** Makes the part a file. */
  readonly fileName?: string;
}

/** More than a server lets a request take, unless it is configured otherwise. */
const silenceMsMax = 15 * 60_000;
const connectMsMax = 10_000;

/** Such as ERR_TLS_CERT_ALTNAME_INVALID, SELF_SIGNED_CERT_IN_CHAIN or UNABLE_TO_VERIFY_LEAF_SIGNATURE. */
const certificateCodes = /_CERT(_|$)|^CERT_|_SIGNATURE$/;

let agent: Agent | undefined;

/** An error that a server answered with. */
export class ServerError extends CliError {
  /** Undefined where the answer was not in the shape of the API. */
  readonly code: string | undefined;
  readonly requestId: string | undefined;
  /** What the server said, without code and id. */
  readonly words: string;

  constructor(words: string, code?: string, requestId?: string) {
    const facts = [code, requestId && `request ${requestId}`].filter((fact) => fact !== undefined);
    const said = words + commandHint(words);
    super(facts.length === 0 ? said : `${said} (${facts.join(', ')})`);
    this.words = words;
    this.code = code;
    this.requestId = requestId;
  }
}

/** The server speaks of its paths, to all clients alike. Who types commands is told the one that lists models. */
function commandHint(words: string): string {
  const path = /GET \/models(?:\?type=(\w+))?/.exec(words);
  if (path === null) return '';
  const [, type] = path;
  return ` On the command line: \`parley models${type === undefined ? '' : ` --type ${type}`}\`.`;
}

export interface Answer {
  readonly requestId: string | undefined;
  /** To be read to its end, or returned. */
  readonly body: AsyncGenerator<Buffer>;
}

/**
 * A server's answer, once it has begun with a success.
 * @throws ServerError for any other status, CliError where there is no answer, the signal's reason
 */
export async function send(server: Server, call: ServerCall): Promise<Answer> {
  const { statusCode, headers, body } = await worded(server, call.signal, () => open(server, call));
  const id = headers['x-request-id'];
  const requestId = typeof id === 'string' ? id : undefined;
  if (statusCode >= 200 && statusCode < 300) return { requestId, body: parts(server, call.signal, body) };
  const answer = await worded(server, call.signal, () => text(body));
  throw serverError(server, { status: statusCode, requestId, text: answer });
}

/** The same, read whole as JSON. */
export async function sendForJson(server: Server, call: ServerCall): Promise<JsonValue> {
  const answer = await text((await send(server, call)).body);
  try {
    return JSON.parse(answer);
  } catch (cause) {
    throw new CliError(`What answers at ${server.baseUrl} is not a Parley. Check --base-url.`, cause);
  }
}

async function open(server: Server, call: ServerCall): Promise<Dispatcher.ResponseData> {
  const { verb, path, query, json, form, signal } = call;
  // Loaded for a call only: most commands of an operator need none, and start faster without it.
  const { Agent, FormData, request } = await import('undici');
  agent ??= new Agent({
    connect: { timeout: connectMsMax },
    headersTimeout: silenceMsMax,
    bodyTimeout: silenceMsMax,
  });
  const multipart = new FormData();
  for (const { name, value, fileName } of form ?? []) {
    if (fileName === undefined) multipart.append(name, value);
    else multipart.append(name, new Blob([value]), fileName);
  }
  return request(server.baseUrl + path + (query === undefined || query.size === 0 ? '' : `?${query}`), {
    dispatcher: agent,
    method: verb,
    headers: {
      authorization: `Bearer ${server.key}`,
      ...(json && { 'content-type': 'application/json' }),
    },
    ...(json && { body: JSON.stringify(json) }),
    ...(form && { body: multipart }),
    ...(signal && { signal }),
  });
}

async function* parts(
  server: Server,
  signal: AbortSignal | undefined,
  body: Dispatcher.ResponseData['body'],
): AsyncGenerator<Buffer> {
  const iterator = body.iterator();
  try {
    for (;;) {
      const next = await worded(server, signal, () => iterator.next());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await iterator.return?.();
  }
}

async function worded<T>(
  { baseUrl }: Server,
  signal: AbortSignal | undefined,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    signal?.throwIfAborted();
    const code = systemCode(error) ?? String(error);
    if (code === 'ECONNREFUSED') {
      throw new CliError(
        `No server answers at ${baseUrl}. Start one with \`parley serve\`, or name another with --base-url.`,
        error,
      );
    }
    if (certificateCodes.test(code)) {
      throw new CliError(
        `The certificate of ${baseUrl} is not accepted (${code}). Name the server by --base-url as its certificate does, or trust its authority: NODE_EXTRA_CA_CERTS=FILE.`,
        error,
      );
    }
    throw new CliError(
      `The connection to ${baseUrl} failed (${code}). Check --base-url, or try again.`,
      error,
    );
  }
}

const errorAnswer = z.object({ error: z.object({ message: z.string(), code: z.string().nullish() }) });

function serverError(
  { baseUrl }: Server,
  answer: { status: number; requestId: string | undefined; text: string },
): ServerError {
  const { data } = errorAnswer.safeParse(jsonOrNothing(answer.text));
  if (data === undefined) {
    const words = `${baseUrl} answered with status ${answer.status}, and not as a Parley does. Check --base-url.`;
    return new ServerError(words, undefined, answer.requestId);
  }
  return new ServerError(data.error.message, data.error.code ?? undefined, answer.requestId);
}

function jsonOrNothing(answer: string): unknown {
  try {
    return JSON.parse(answer);
  } catch {
    return undefined;
  }
}
