/** A proxy between a store and PostgreSQL. Tests make it slow, or make it break connections. */

import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const defaultPort = 5432;
const socketName = '.s.PGSQL.5432';
/** The answer to a commit. */
const committed = 'COMMIT\0';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

export class DatabaseProxy {
  readonly #folder = mkdtempSync(join(tmpdir(), 'parley-proxy-'));
  #target: () => Socket = () => new Socket();
  readonly #pairs = new Set<Pair>();
  readonly #url: URL;
  #server: Server | undefined;
  /** By the receiver of pieces that wait: the delivery of the last one. */
  readonly #late = new Map<Socket, Promise<void>>();
  #isMute = false;
  #losesCommit = false;
  #masksCommit = false;
  #onLost: () => void = () => undefined;
  /** Is called with each piece from a client. */
  onSent: (data: Buffer) => void = () => undefined;
  /** Delay of each piece, in each direction, in milliseconds. */
  delayMs = 0;
  /** The share of delivered commits whose answer is lost with the connection. */
  lostShare = 0;
  /** The number of commits whose answer was lost. */
  lost = 0;

  private constructor(url: string) {
    this.#url = parse(url);
    this.lead(url);
  }

  /** Forwards new connections to this PostgreSQL. */
  lead(url: string): void {
    const { searchParams, hostname, port } = parse(url);
    const folder = searchParams.get('host');
    this.#target = () =>
      folder ? connect(join(folder, socketName)) : connect(Number(port || defaultPort), hostname);
  }

  static async open(url: string): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(url);
    await proxy.restore();
    return proxy;
  }

  get url(): string {
    const { username, password, pathname } = this.#url;
    return `postgres://${username}${password && `:${password}`}@${pathname}?host=${encodeURIComponent(this.#folder)}`;
  }

  /** Accepts connections again, and forwards everything at once. */
  async restore(): Promise<void> {
    this.#isMute = false;
    this.delayMs = 0;
    this.lostShare = 0;
    if (this.#server !== undefined) return;
    const server = createServer((client) => this.#forward(client));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(join(this.#folder, socketName), resolve));
  }

  /** Ends all connections, and accepts none. */
  async refuse(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    const closed = new Promise((resolve) => server?.close(resolve));
    this.#cut();
    await closed;
  }

  /** Stops forwarding in both directions, like a network without a route. */
  hang(): void {
    this.#isMute = true;
  }

  /** Delivers the next commit, and then ends its connection without the answer. Resolves when that has happened. */
  loseCommit(): Promise<void> {
    this.#losesCommit = true;
    return new Promise((resolve) => {
      this.#onLost = resolve;
    });
  }

  /** Delivers the next commit, and changes its answer into that of another command. */
  maskCommit(): void {
    this.#masksCommit = true;
  }

  async close(): Promise<void> {
    await this.refuse();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #cut(): void {
    for (const { client, server } of this.#pairs) {
      client.destroy();
      server.destroy();
    }
    this.#pairs.clear();
  }

  /** Pieces keep their order when the delay becomes shorter. */
  #pass(data: Buffer, to: Socket): void {
    const earlier = this.#late.get(to);
    if (this.delayMs === 0 && earlier === undefined) return void to.write(data);
    const passed = Promise.all([earlier, sleep(this.delayMs)]).then(() => {
      if (!to.destroyed) to.write(data);
      if (this.#late.get(to) === passed) this.#late.delete(to);
    });
    this.#late.set(to, passed);
  }

  #mask(data: Buffer): void {
    const at = this.#masksCommit ? data.indexOf(committed) : -1;
    if (at < 0) return;
    this.#masksCommit = false;
    data.write('SELECT', at);
  }

  #forward(client: Socket): void {
    const pair = { client, server: this.#target() };
    const { server } = pair;
    this.#pairs.add(pair);
    let isLost = false;
    client.on('data', (data) => {
      if (this.#isMute) return;
      this.onSent(data);
      this.#pass(data, server);
      if (!data.includes('commit\0')) return;
      if (!this.#losesCommit && Math.random() >= this.lostShare) return;
      this.#losesCommit = false;
      isLost = true;
    });
    server.on('data', (data) => {
      if (this.#isMute) return;
      this.#mask(data);
      if (!isLost) this.#pass(data, client);
      else if (data.includes(committed)) {
        client.destroy();
        this.lost++;
        this.#onLost();
      }
    });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => undefined);
      one.on('close', () => {
        other.destroy();
        this.#pairs.delete(pair);
      });
    }
  }
}

/** A folder of sockets is a parameter, and the host of the URL is empty. */
function parse(url: string): URL {
  return new URL(url.replace('@/', '@localhost/'));
}
