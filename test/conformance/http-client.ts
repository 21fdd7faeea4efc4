/** HTTP/1.1 and HTTP/2 for the REST wire: one request, and its answer, complete or cut. */
import { connect } from 'node:http2';
import { Agent, request as send } from 'undici';
import type { Target } from './wire.ts';

export interface HttpCall {
  readonly method: string;
  /** Path with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with each piece of the answer's body. */
  readonly onChunk?: (() => void) | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  /** Whether the answer broke off before its end. */
  readonly isCut: boolean;
}

export interface HttpClient {
  /** Rejects if the client cancels, or if there is no answer. */
  send(call: HttpCall): Promise<HttpAnswer>;
  close(): Promise<void>;
}

export function openHttp1({ origin, ca }: Target): HttpClient {
  const dispatcher = new Agent({ connect: ca === undefined ? {} : { ca } });
  return {
    send: async ({ method, path, headers, body, signal, onChunk }) => {
      const response = await send(origin + path, {
        method,
        headers,
        dispatcher,
        body: body ?? null,
        ...(signal && { signal }),
      });
      const read = await readAll(response.body, onChunk);
      return { status: response.statusCode, headers: flat(response.headers), ...read };
    },
    close: () => dispatcher.destroy(),
  };
}

export function openHttp2({ origin, ca }: Target): HttpClient {
  const open = () => {
    const opened = connect(origin, ca === undefined ? {} : { ca });
    // Called by each request.
    opened.on('error', () => undefined);
    return opened;
  };
  let session = open();
  return {
    send: async ({ method, path, headers, body, signal, onChunk }) => {
      // The server closes a session that was idle for a long time, as on a busy machine.
      if (session.closed || session.destroyed) session = open();
      const stream = session.request(
        { ':method': method, ':path': path, ...headers },
        { ...(signal && { signal }) },
      );
      const head = new Promise<Record<string, string | string[] | undefined>>((resolve, reject) => {
        stream.once('response', ({ ':status': status, ...rest }) =>
          resolve({ ...(rest as Record<string, string>), ':status': String(status) }),
        );
        stream.once('error', reject);
      });
      stream.end(body);
      const headersOf = flat(await head);
      return {
        status: Number(headersOf[':status']),
        headers: headersOf,
        ...(await readAll(stream, onChunk)),
      };
    },
    close: async () => session.destroy(),
  };
}

async function readAll(
  body: AsyncIterable<Uint8Array>,
  onChunk?: () => void,
): Promise<Pick<HttpAnswer, 'body' | 'isCut'>> {
  const chunks: Uint8Array[] = [];
  let isCut = false;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      onChunk?.();
    }
  } catch {
    isCut = true;
  }
  return { body: Buffer.concat(chunks), isCut };
}

function flat(headers: Readonly<Record<string, string | string[] | undefined>>): HttpAnswer['headers'] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}
