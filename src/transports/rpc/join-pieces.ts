import type { Readable } from 'node:stream';
import { CollectedBytes } from '../../core/collected-bytes.ts';

/** Nearly every body is over by then, and waits for nothing. */
const piecesAtOnceMax = 8;
/** So much waits for the turn to end before the client has to. */
const waitingBytesMax = 65_536;

/**
 * From here on a body comes in pieces that have all that came in one turn, however small its client has cut it. Connect and
 * grpc-js keep the pieces of a message, and Connect copies for each what it has so far: of the smallest pieces, a few hundred
 * KB would cost hundreds of MB or minutes, before anybody has looked at the key.
 */
export function joinPieces(body: Readable): void {
  const push = body.push.bind(body);
  let pieces = 0;
  let waiting: CollectedBytes | undefined;
  const release = () => {
    const bytes = waiting?.bytes;
    waiting = undefined;
    if (bytes !== undefined && !body.destroyed) push(bytes);
  };
  body.push = (piece: unknown, encoding?: BufferEncoding) => {
    if (!(piece instanceof Uint8Array)) {
      release();
      return push(piece, encoding);
    }
    if (++pieces <= piecesAtOnceMax) return push(piece);
    if (waiting === undefined) setImmediate(release);
    waiting ??= new CollectedBytes();
    waiting.add(piece);
    return waiting.length < waitingBytesMax;
  };
}
