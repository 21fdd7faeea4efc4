/** A server of one file that can misbehave in many ways, and the manifest of that file. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { ServerOptions } from 'node:https';
import type { ModelManifest } from '../../src/models/manifest.ts';
import { startHttp } from './http-server.ts';

const pieceBytes = 65_536;
/** After so many bytes a connection drops: more than what counts as progress. */
const droppedAfter = 1_500_000;

export const content = randomBytes(4_000_000);
export const sha256 = createHash('sha256').update(content).digest('hex');

export interface SeenRequest {
  readonly trick: string;
  readonly range: string | undefined;
  readonly ifRange: string | string[] | undefined;
  readonly authorization: string | undefined;
}

const redirects: Record<string, string> = {
  near: '/plain',
  loop: '/loop',
  'to-file': 'file:///etc/hostname',
  'to-http': 'http://example.com/model.gguf',
  'to-private': 'https://10.0.0.1/model.gguf',
  'to-mapped': 'https://[::ffff:127.0.0.1]/model.gguf',
  'to-name': 'https://localhost:1/model.gguf',
  'to-user': 'https://user:password@example.com/model.gguf',
};

const statuses: Record<string, number> = { gone: 404, closed: 401, busy: 503 };

/** The first part of a path is the name of a trick; any other path serves the file well. `gates.slow` opens the path `slow`. */
export async function startHostileFiles(tls?: ServerOptions) {
  const requests: SeenRequest[] = [];
  const gates = { slow: Promise.withResolvers<void>() };
  let bytesSent = 0;

  const send = async (response: ServerResponse, body: Buffer, from: number, to: number) => {
    const closed = once(response, 'close');
    for (let at = from; at < to && !response.destroyed; at += pieceBytes) {
      const piece = body.subarray(at, Math.min(to, at + pieceBytes));
      bytesSent += piece.length;
      if (!response.write(piece)) await Promise.race([once(response, 'drain'), closed]);
    }
  };

  const { origin, close } = await startHttp(async (request, response): Promise<unknown> => {
    const [, trick = ''] = (request.url ?? '').split('/');
    const { range, authorization, 'if-range': ifRange } = request.headers;
    const isFirst = requests.every((other) => other.trick !== trick);
    requests.push({ trick, range, ifRange, authorization });
    const status = trick === 'flaky' && isFirst ? 503 : statuses[trick];
    if (status !== undefined) return response.writeHead(status).end();
    if (redirects[trick] !== undefined) return response.writeHead(302, { location: redirects[trick] }).end();

    const body = bodyOf(trick);
    const asked = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    const offset = trick === 'no-ranges' ? 0 : asked;
    if (offset >= body.length) return response.writeHead(416).end();
    const headers: Record<string, string | number> = { etag: '"one"' };
    if (!trick.endsWith('-chunked')) headers['content-length'] = body.length - offset;
    if (trick === 'wrong-range') headers['content-range'] = `bytes 0-${body.length - 1}/${body.length}`;
    else if (offset > 0) headers['content-range'] = `bytes ${offset}-${body.length - 1}/${body.length}`;
    if (trick === 'compressed') headers['content-encoding'] = 'gzip';
    response.writeHead(offset > 0 || trick === 'wrong-range' ? 206 : 200, headers);
    const isDropped = trick === 'dropped' || (trick === 'no-ranges' && isFirst);
    const end = isDropped ? Math.min(body.length, offset + droppedAfter) : body.length;
    if (trick === 'slow') {
      await send(response, body, offset, Math.min(end, offset + pieceBytes));
      await Promise.race([gates.slow.promise, once(response, 'close')]);
      await send(response, body, offset + pieceBytes, end);
    } else await send(response, body, offset, end);
    return end < body.length ? response.destroy() : response.end();
  }, tls);
  return { origin, close, requests, gates, bytesSent: () => bytesSent };
}

function bodyOf(trick: string): Buffer {
  if (trick === 'wrong') return randomBytes(content.length);
  if (trick.startsWith('long')) return Buffer.concat([content, content]);
  if (trick.startsWith('short')) return content.subarray(0, 2_000_000);
  return content;
}

export function manifestOf(urls: readonly string[], changes: Partial<ModelManifest> = {}): ModelManifest {
  const files = [{ name: 'small.gguf', sha256, bytes: content.length, urls: [...urls] }];
  return { id: 'small', type: 'chat', runtime: 'llama', licence: { name: 'MIT' }, files, ...changes };
}
