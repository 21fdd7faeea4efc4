/** Hand-made WebSocket frames over a bare socket, for connections that no client library would open (RFC 6455). */
import type { RawClient } from './raw-http.ts';

const opcodes = { continuation: 0, text: 1, close: 8, ping: 9 } as const;

interface FrameOptions {
  /** Default: true. */
  readonly isLast?: boolean;
  /** Default: true, as clients must. */
  readonly isMasked?: boolean;
  /** The bit of compressed messages. Default: false. */
  readonly isCompressed?: boolean;
  /** Length that the head claims. Default: that of the payload. */
  readonly claimedBytes?: number;
}

/** The mask is 0, so that the payload is as given. */
export function webSocketFrame(
  kind: keyof typeof opcodes,
  payload: Uint8Array | string = '',
  { isLast = true, isMasked = true, isCompressed = false, claimedBytes }: FrameOptions = {},
): Buffer {
  const bytes = Buffer.from(payload);
  const first = (isLast ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcodes[kind];
  const mask = isMasked ? 0x80 : 0;
  const length = claimedBytes ?? bytes.length;
  const long = Buffer.alloc(8);
  long.writeBigUInt64BE(BigInt(length));
  const head = length <= 125 ? [first, mask | length] : [first, mask | 127, ...long];
  return Buffer.concat([Buffer.from(head), Buffer.alloc(isMasked ? 4 : 0), bytes]);
}

/** The handshake, which ends with an empty line. @param more header lines, each with its line end */
export function upgradeRequest(path: string, key: string | undefined, more = ''): string {
  const authorization = key === undefined ? '' : `authorization: Bearer ${key}\r\n`;
  return [
    `GET ${path} HTTP/1.1\r\nhost: parley\r\n${authorization}`,
    'connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n',
    `sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n${more}\r\n`,
  ].join('');
}

/** The code of the close frame that the server has sent, if any. It sends no other frame of this form. */
export function closeCodeOf({ received }: RawClient): number | undefined {
  const bytes = Buffer.from(received, 'latin1');
  let at = bytes.indexOf('\r\n\r\n') + 4;
  while (at + 2 <= bytes.length) {
    const opcode = (bytes[at] ?? 0) & 0x0f;
    const short = (bytes[at + 1] ?? 0) & 0x7f;
    const headBytes = short === 126 ? 4 : 2;
    if (opcode === opcodes.close) return bytes.readUInt16BE(at + headBytes);
    at += headBytes + (short === 126 ? bytes.readUInt16BE(at + 2) : short);
  }
  return undefined;
}
