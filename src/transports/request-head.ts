import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { Client } from '../core/access/gate.ts';
import type { Wire } from '../core/entities/usage.ts';

export interface RequestHead {
  readonly wire: Wire;
  readonly client: Client;
  /** A header by its name in lower case. */
  readonly header: (name: string) => string | undefined;
}

export function requestHead(wire: Wire, client: Client, headers: IncomingHttpHeaders): RequestHead {
  const header = (name: string) => {
    const value = headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  return { wire, client, header };
}

/** The text of a header in UTF-8. Node reads all headers as Latin-1, which stays where the bytes are no UTF-8. */
export function utf8Header({ header }: RequestHead, name: string): string | undefined {
  const value = header(name);
  if (value === undefined) return undefined;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : value;
}

/** Reads a key in the header `x-api-key` as one in `Authorization`, which prevails if both are sent. */
export function takeKeyHeader(headers: IncomingHttpHeaders): void {
  const key = headers['x-api-key'];
  if (typeof key === 'string') headers.authorization ??= `Bearer ${key}`;
}

/** The headers that name the compression of a body or of its messages. */
const encodingHeaders = ['grpc-encoding', 'content-encoding', 'connect-content-encoding'];

/** Whether the body, or messages in it, may be compressed. */
export function isCompressed({ header }: RequestHead): boolean {
  return encodingHeaders.some((name) => (header(name) ?? 'identity') !== 'identity');
}

/** The path of a request's target, without the query. */
export function pathOf(target = '/'): string {
  const end = target.indexOf('?');
  return end < 0 ? target : target.slice(0, end);
}

/** The path without the server that the client of a proxy names, and with its characters decoded, as `find-my-way` reads it. */
export function plainPath(path: string): string {
  if (path.startsWith('/') && !path.includes('%')) return path;
  try {
    return decodeURI(path.replace(/^https?:\/\/[^/]*/, ''));
  } catch {
    return path;
  }
}
