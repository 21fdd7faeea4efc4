import type { Socket } from 'node:net';

/** The first bytes of an HTTP/2 client with prior knowledge (RFC 9113, 3.4). */
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/**
 * Distinguishes HTTP/2 from HTTP/1 by the first bytes of a connection, and puts them back. Closes a connection that
 * sends too few within `firstByteMsMax`, as no server watches it yet.
 */
export function detectProtocol(
  socket: Socket,
  firstByteMsMax: number,
  decide: (isHttp2: boolean) => void,
): void {
  let seen = Buffer.alloc(0);
  const leave = () => socket.destroy();
  const timer = setTimeout(leave, firstByteMsMax);
  const stop = () => {
    clearTimeout(timer);
    socket.off('readable', read).off('end', leave).off('close', stop).off('error', stop);
  };
  const read = () => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    seen = Buffer.concat([seen, chunk]);
    const compared = Math.min(seen.length, preface.length);
    const isHttp2 = seen.subarray(0, compared).equals(preface.subarray(0, compared));
    if (isHttp2 && compared < preface.length) return;
    stop();
    socket.unshift(seen);
    decide(isHttp2);
  };
  socket.on('readable', read).on('end', leave).on('close', stop).on('error', stop);
}
