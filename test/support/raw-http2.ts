/** Hand-made HTTP/2 frames over a bare socket, for requests that no client library would send (RFC 9113). */
import { connect, type Socket } from 'node:net';

export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  resetStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
type FrameType = (typeof frameTypes)[keyof typeof frameTypes];

export const endStream = 0x1;
export const endHeaders = 0x4;
const ack = 0x1;

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

export function frame(
  type: FrameType,
  flags: number,
  streamId: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

const uint32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

export const resetStream = (streamId: number, code = 8) =>
  frame(frameTypes.resetStream, 0, streamId, uint32(code));
export const windowUpdate = (streamId: number, bytes: number) =>
  frame(frameTypes.windowUpdate, 0, streamId, uint32(bytes));
export const ping = () => frame(frameTypes.ping, 0, 0, Buffer.alloc(8));
export const data = (streamId: number, bytes: Buffer = Buffer.alloc(0), flags = 0) =>
  frame(frameTypes.data, flags, streamId, bytes);

/** Identifiers of settings (RFC 9113, 6.5.2). */
export const initialWindowSize = 4;

export function settings(...pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  const entries = pairs.map(([id, value]) =>
    Buffer.concat([Buffer.from([id >> 8, id & 0xff]), uint32(value)]),
  );
  return frame(frameTypes.settings, 0, 0, Buffer.concat(entries));
}

export type HeaderList = readonly (readonly [name: string, value: string])[];

/** HPACK without its table: every header is a literal without indexing. */
export function headerBlock(list: HeaderList): Buffer {
  return Buffer.concat(
    list.flatMap(([name, value]) => [Buffer.from([0]), headerText(name), headerText(value)]),
  );
}

function headerText(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([prefixedLength(bytes.length), bytes]);
}

/** An integer with a prefix of 7 bits (RFC 7541, 5.1). */
function prefixedLength(length: number): Buffer {
  if (length < 127) return Buffer.from([length]);
  const bytes = [127];
  let rest = length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

export function requestHeaders(method: string, path: string, more: HeaderList = []): HeaderList {
  return [[':method', method], [':scheme', 'http'], [':path', path], [':authority', 'parley'], ...more];
}

export interface RequestFrame {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: HeaderList;
  /** Default: both headers and stream end with it. */
  readonly flags?: number;
}

export function request(streamId: number, options: RequestFrame = {}): Buffer {
  const { method = 'GET', path = '/api/v1/models', headers, flags = endHeaders | endStream } = options;
  return frame(frameTypes.headers, flags, streamId, headerBlock(requestHeaders(method, path, headers)));
}

export interface RawHttp2Options {
  /** The bytes that it sends first. Default: the preface and SETTINGS. */
  readonly start?: Buffer;
  /** The types of frames that it acknowledges. Default: SETTINGS and PING, as every client must. */
  readonly answers?: readonly FrameType[];
  /** The client's own address. Default: the system's choice. */
  readonly localAddress?: string;
}

const polite = [frameTypes.settings, frameTypes.ping];

/** The socket never closes its end by itself. */
export class RawHttp2 {
  readonly socket: Socket;
  readonly frames: Frame[] = [];
  #unread: Buffer = Buffer.alloc(0);
  #isClosed = false;

  private constructor(socket: Socket, answers: readonly number[]) {
    this.socket = socket;
    socket.on('data', (bytes) => this.#take(bytes, answers));
    socket.on('error', () => undefined);
    for (const event of ['end', 'close']) {
      socket.on(event, () => {
        this.#isClosed = true;
      });
    }
  }

  static async open(
    baseUrl: string,
    { answers = polite, start = Buffer.concat([preface, settings()]), localAddress }: RawHttp2Options = {},
  ): Promise<RawHttp2> {
    const { hostname, port } = new URL(baseUrl);
    const socket = await new Promise<Socket>((resolve, reject) => {
      const own = localAddress === undefined ? {} : { localAddress };
      const options = { host: hostname, port: Number(port), allowHalfOpen: true, ...own };
      const opening = connect(options, () => resolve(opening));
      opening.once('error', reject);
    });
    const client = new RawHttp2(socket, answers);
    await client.write(start);
    return client;
  }

  /** Whether the server has closed its end. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves to false if the server has closed the connection. */
  write(...parts: readonly Buffer[]): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    return new Promise((resolve) => this.socket.write(Buffer.concat(parts), (error) => resolve(!error)));
  }

  /** The received frames of a type, of one stream or of all. */
  received(type: FrameType, streamId?: number): Frame[] {
    return this.frames.filter(
      (each) => each.type === type && (streamId === undefined || each.streamId === streamId),
    );
  }

  /** The code of the server's GOAWAY, or of its reset of a stream. */
  get goawayCode(): number | undefined {
    return this.received(frameTypes.goaway).at(-1)?.payload.readUInt32BE(4);
  }

  resetCode(streamId: number): number | undefined {
    return this.received(frameTypes.resetStream, streamId)[0]?.payload.readUInt32BE();
  }

  close(): void {
    this.socket.destroy();
  }

  #take(bytes: Buffer, answers: readonly number[]): void {
    this.#unread = Buffer.concat([this.#unread, bytes]);
    while (this.#unread.length >= 9) {
      const end = 9 + this.#unread.readUIntBE(0, 3);
      if (this.#unread.length < end) return;
      const [type = 0, flags = 0] = this.#unread.subarray(3, 5);
      const streamId = this.#unread.readUInt32BE(5);
      const received = { type, flags, streamId, payload: this.#unread.subarray(9, end) };
      this.#unread = this.#unread.subarray(end);
      this.frames.push(received);
      if (answers.includes(type)) this.#answer(received);
    }
  }

  #answer({ type, flags, payload }: Frame): void {
    if (flags & ack) return;
    if (type === frameTypes.settings) this.write(frame(type, ack, 0));
    if (type === frameTypes.ping) this.write(frame(type, ack, 0, payload));
  }
}
