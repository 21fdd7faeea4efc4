import type { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';

/** Nearly every body is over by then, and waits for nothing. */
const piecesAtOnceMax = 8;

/**
 * The body of a request, in pieces that have all that came in one turn, however small the client has cut it. Connect keeps
 * the pieces of a body, and copies what it has of a message for each: of the smallest, a few hundred KB would cost hundreds of
 * MB and many seconds, before anybody has looked at the key.
 */
export async function* inLargePieces(request: Readable): AsyncGenerator<Uint8Array, void, undefined> {
  let pieces = 0;
  for await (const piece of request) {
    if (piece instanceof Uint8Array) yield piece;
    // What comes meanwhile waits in the request, which then gives it as one.
    if (++pieces >= piecesAtOnceMax) await turn();
  }
}
