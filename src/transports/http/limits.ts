import type { ProxySettings } from './trusted-proxies.ts';

/** Limits on clients of the port. Times are in milliseconds. */
export interface ServerLimits extends ProxySettings {
  /** Open sockets, of all protocols. */
  readonly connectionsMax: number;
  /** Maximum for one IPv4 address or IPv6 /64. */
  readonly connectionsPerAddressMax: number;
  /** For each of the TLS handshake, the first byte and the headers. */
  readonly headersMsMax: number;
  readonly headerBytesMax: number;
  readonly headerCountMax: number;
  /** From the first byte of a request to its last. */
  readonly bodyMsMax: number;
  /** From the headers to the end of the answer. */
  readonly requestMsMax: number;
  /** How long a client may read nothing of an answer. */
  readonly stallMsMax: number;
  /** HTTP/1: between two requests. */
  readonly keepAliveMs: number;
  /** HTTP/2: without a request. */
  readonly idleMs: number;
  readonly pingEveryMs: number;
  readonly pingTimeoutMs: number;
  /** HTTP/2: concurrent requests on a connection. */
  readonly streamsPerConnectionMax: number;
  /** HTTP/2: memory of Node and nghttp2 for a connection. Above it streams are refused. */
  readonly sessionBytesMax: number;
}

/**
 * How long a client may keep its stream or socket after its whole answer was sent, to read the answer. Node itself
 * would wait forever.
 */
export function lingerMsMax({ stallMsMax }: ServerLimits): number {
  return Math.min(5_000, stallMsMax);
}
