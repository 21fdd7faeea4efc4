import type { Socket } from 'node:net';

/** What an HTTP/2 client sends first, with prior knowledge (RFC 9113, 3.4). */
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export interface SniffedTo {
  readonly http1: (socket: Socket) => void;
  readonly http2: (socket: Socket) => void;
}

/**
 * Reads as much of a connection as tells HTTP/2 from HTTP/1, puts it back, and hands the socket over. One that says nothing
 * for `firstByteMsMax` is closed: the servers behind only watch what they have been handed.
 */
export function sniff(socket: Socket, firstByteMsMax: number, to: SniffedTo): void {
  let seen = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), firstByteMsMax);
  const stop = () => {
    clearTimeout(timer);
    socket.off('readable', read);
    socket.off('close', stop);
    socket.off('error', stop);
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
    if (isHttp2) to.http2(socket);
    else to.http1(socket);
  };
  socket.on('readable', read);
  socket.once('close', stop);
  socket.on('error', stop);
}
