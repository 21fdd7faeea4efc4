/** Chats over kept connections at next to no cost to the client: the same bytes are written, and the end of each answer is looked for. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

interface Target {
  readonly origin: string;
  readonly key: string;
}

const headEnd = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');

export class RawChats {
  readonly #sockets: readonly Socket[];
  readonly #request: Buffer;

  private constructor(sockets: readonly Socket[], request: Buffer) {
    this.#sockets = sockets;
    this.#request = request;
  }

  static async open({ origin, key }: Target, body: string, count: number): Promise<RawChats> {
    const { hostname, port, host } = new URL(origin);
    const head = [
      'POST /api/v1/chat/completions HTTP/1.1',
      `host: ${host}`,
      `authorization: Bearer ${key}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
    ];
    const request = Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
    const sockets: Socket[] = [];
    // Connections that come at once are taken by whichever worker is quickest: then one may have most of them.
    while (sockets.length < count) {
      const socket = connect(Number(port), hostname);
      await once(socket, 'connect');
      await new RawChats([socket], request).runFor(0);
      sockets.push(socket);
    }
    return new RawChats(sockets, request);
  }

  /** One request after another on each connection. Returns how many were answered; throws where one was not answered well. */
  async runFor(ms: number): Promise<number> {
    const until = performance.now() + ms;
    const counts = await Promise.all(this.#sockets.map((socket) => this.#use(socket, until)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #use(socket: Socket, until: number): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    let answered = 0;
    let answer: Buffer = Buffer.alloc(0);
    const take = (piece: Buffer) => {
      answer = answer.length === 0 ? piece : Buffer.concat([answer, piece]);
      if (!isWhole(answer)) return;
      if (!answer.includes(' 200 OK')) return stop(() => reject(new Error(answer.toString())));
      answered++;
      answer = Buffer.alloc(0);
      if (performance.now() < until) socket.write(this.#request);
      else stop(() => resolve(answered));
    };
    const lost = () => stop(() => reject(new Error('a connection was lost')));
    const stop = (tell: () => void) => {
      socket.off('data', take).off('close', lost);
      tell();
    };
    socket.on('data', take).on('close', lost);
    socket.write(this.#request);
    return promise;
  }
}

function isWhole(answer: Buffer): boolean {
  const bodyAt = answer.indexOf(headEnd) + headEnd.length;
  if (bodyAt < headEnd.length) return false;
  const length = /content-length: (\d+)/i.exec(answer.toString('latin1', 0, bodyAt))?.[1];
  if (length !== undefined) return answer.length >= bodyAt + Number(length);
  return answer.subarray(-lastChunk.length).equals(lastChunk);
}
