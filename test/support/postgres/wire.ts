/** A TCP port in front of a PostgreSQL that can be slow, silent, or lose what the server says. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

const committed = Buffer.from('COMMIT\0');

export class PostgresWire {
  readonly #server: Server;
  readonly #socket: string;
  readonly #pairs = new Set<readonly [client: Socket, server: Socket]>();
  /** Delay of each piece, in each direction, in milliseconds. */
  delayMs = 0;
  /** The share of commits whose acknowledgement is lost, with its connection. */
  lostCommits = 0;
  /** Commits that were lost. */
  lost = 0;
  #isSilent = false;

  private constructor(socket: string) {
    this.#socket = socket;
    this.#server = createServer((client) => this.#join(client));
  }

  /** @param socket of PostgreSQL */
  static async open(socket: string): Promise<PostgresWire> {
    const wire = new PostgresWire(socket);
    await new Promise<void>((resolve) => wire.#server.listen(0, '127.0.0.1', resolve));
    return wire;
  }

  get url(): string {
    return `postgres://parley@127.0.0.1:${(this.#server.address() as AddressInfo).port}/postgres`;
  }

  /** Passes nothing on, in either direction, as a network that drops its packets. What waits is sent afterwards. */
  silence(): void {
    this.#isSilent = true;
    for (const pair of this.#pairs) for (const side of pair) side.pause();
  }

  speak(): void {
    this.#isSilent = false;
    for (const pair of this.#pairs) for (const side of pair) side.resume();
  }

  /** Ends all faults. */
  heal(): void {
    this.delayMs = 0;
    this.lostCommits = 0;
    this.speak();
  }

  async close(): Promise<void> {
    for (const pair of this.#pairs) for (const side of pair) side.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(client: Socket): void {
    const server = connect(this.#socket);
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    const end = () => {
      this.#pairs.delete(pair);
      for (const side of pair) side.destroy();
    };
    for (const side of pair) side.on('error', end).on('close', end);
    client.on('data', (piece) => this.#pass(piece, server));
    server.on('data', (piece: Buffer) => {
      if (!this.#loses(piece)) return this.#pass(piece, client);
      this.lost++;
      end();
    });
    if (this.#isSilent) for (const side of pair) side.pause();
  }

  #pass(piece: Buffer, to: Socket): void {
    if (this.delayMs === 0) to.write(piece);
    else setTimeout(() => to.destroyed || to.write(piece), this.delayMs);
  }

  #loses(piece: Buffer): boolean {
    return this.lostCommits > 0 && piece.includes(committed) && Math.random() < this.lostCommits;
  }
}
