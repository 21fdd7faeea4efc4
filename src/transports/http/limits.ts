/** What clients may take of the port. Times are in milliseconds. */
export interface ServerLimits {
  /** Sockets that are open at once, whatever they speak. */
  readonly connectionsMax: number;
  /** For each step before a request is there: the TLS handshake, the first byte, the headers. */
  readonly headersMsMax: number;
  readonly headerBytesMax: number;
  readonly headerCountMax: number;
  /** From the first byte of a request to its last. */
  readonly bodyMsMax: number;
  /** From a whole request to the end of what the program does for it. */
  readonly requestMsMax: number;
  /** How long a client may take nothing of an answer that waits for it. */
  readonly stallMsMax: number;
  /** HTTP/1: between two requests. */
  readonly keepAliveMs: number;
  /** HTTP/2: without a request. */
  readonly idleMs: number;
  readonly pingEveryMs: number;
  readonly pingTimeoutMs: number;
  /** HTTP/2: requests at once on a connection. */
  readonly streamsPerConnectionMax: number;
}

/**
 * How long a client may go on, or keep its socket, once it has been told all: Node itself would wait for ever. Long enough
 * for it to read that.
 */
export function lingerMsMax({ stallMsMax }: ServerLimits): number {
  return Math.min(5_000, stallMsMax);
}
