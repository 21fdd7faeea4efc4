import { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';

/** How long the rest of a refused body is read. Clients read the answer only after they have sent the body. */
const drainMsMax = 5_000;

/**
 * Reads and discards the rest of a body. Destroys the connection or stream if it takes too long. Call it before the answer has been
 * written.
 */
export function drainBody(request: Readable & { readonly complete: boolean }): void {
  if (request.complete) return;
  const timer = setTimeout(() => request.destroy(), drainMsMax);
  request.once('close', () => clearTimeout(timer));
  request.resume();
  if (request instanceof IncomingMessage) closeAfter(request);
}

/** After the last answer of a connection Node destroys the socket. With unread bytes that is a reset, which discards the answer. */
function closeAfter(request: IncomingMessage): void {
  const { socket } = request;
  socket.destroySoon = () => {
    socket.end();
    request.once('close', () => socket.destroySoon());
  };
  request.once('close', () => Reflect.deleteProperty(socket, 'destroySoon'));
}
