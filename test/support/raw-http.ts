/** HTTP over a bare socket, for requests that no client library would send. */
import { connect, type Socket } from 'node:net';

interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

export class RawClient {
  readonly socket: Socket;
  #received = '';
  #ended = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => {
      this.#received += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#ended = true;
    });
  }

  /** @param localAddress the client's own address. Default: the system's choice */
  static open(baseUrl: string, localAddress?: string): Promise<RawClient> {
    const { hostname, port } = new URL(baseUrl);
    const options = { port: Number(port), host: hostname, ...(localAddress && { localAddress }) };
    return new Promise((resolve, reject) => {
      const socket = connect(options, () => resolve(new RawClient(socket)));
      socket.once('error', reject);
    });
  }

  get isClosed(): boolean {
    return this.#ended;
  }

  /** Everything that was received so far. */
  get received(): string {
    return this.#received;
  }

  /** Resolves to false if the server has closed the connection. */
  write(data: string | Uint8Array): Promise<boolean> {
    if (this.#ended) return Promise.resolve(false);
    return new Promise((resolve) => this.socket.write(data, (error) => resolve(!error)));
  }

  /** The next answer that has a Content-Length. */
  async answer(waitMs = 120_000): Promise<RawAnswer> {
    const deadline = Date.now() + waitMs;
    for (;;) {
      const found = this.#take();
      if (found) return found;
      if (this.#ended || Date.now() > deadline) throw new Error(`no answer; received: ${this.#received}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  close(): void {
    this.socket.destroy();
  }

  #take(): RawAnswer | undefined {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) return undefined;
    const head = this.#received.slice(0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    const body = this.#received.slice(end + 4, end + 4 + length);
    if (body.length < length) return undefined;
    this.#received = this.#received.slice(end + 4 + length);
    return { status: Number(head.split(' ')[1]), head, body };
  }
}
