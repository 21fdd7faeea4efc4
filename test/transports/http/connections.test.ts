/**
 * Connections without a valid key, then idle ones, are closed to make room: within the share of their address, and on a
 * full port.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { makeCertificate } from '../../support/certificates.ts';
import { withFakes } from '../../support/fake-engines.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import {
  data,
  endHeaders,
  endStream,
  type HeaderList,
  preface,
  request,
  settings,
} from '../../support/raw-http2.ts';

const perAddress = 20;
const all = 50;
const models = '/api/v1/models';

let parley: Parley;
const clients: { readonly socket: { destroy(): unknown } }[] = [];
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  await parley.close();
});

const start = async (server: object = {}, settings: object = {}) => {
  const limits = { connectionsMax: all, connectionsPerAddressMax: perAddress, keepAliveMs: 600_000 };
  const merged = { ...settings, server: { host: '0.0.0.0', ...limits, ...server } };
  parley = await startParley({ settings: merged, engines: withFakes({}) });
};

/** A connection from an address of this machine. */
class Client {
  readonly socket: Socket;
  received = '';
  isClosed = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => {
      this.received += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.isClosed = true;
    });
    clients.push(this);
  }

  static async open(localAddress: string): Promise<Client> {
    const port = Number(new URL(parley.baseUrl).port);
    const client = new Client(connect({ port, host: '127.0.0.1', localAddress }));
    await Promise.race([once(client.socket, 'connect'), once(client.socket, 'close')]);
    return client;
  }

  static on(socket: Socket): Client {
    return new Client(socket);
  }

  static many(count: number, localAddress: string): Promise<Client[]> {
    return Promise.all(Array.from({ length: count }, () => Client.open(localAddress)));
  }

  /** Calls Health/Watch over gRPC, without a key. */
  watchHealth(): void {
    const headers: HeaderList = [['content-type', 'application/grpc']];
    const path = '/grpc.health.v1.Health/Watch';
    this.socket.write(Buffer.concat([preface, settings()]));
    this.socket.write(request(1, { method: 'POST', path, headers, flags: endHeaders }));
    this.socket.write(data(1, Buffer.alloc(5), endStream));
  }

  /** Sends the headers of a request for speech. */
  beginSpeech(): void {
    const headers = `authorization: Bearer ${parley.apiKey}\r\ncontent-length: 10\r\nexpect: 100-continue`;
    this.socket.write(`POST /api/v1/audio/speech HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n`);
  }

  /** The status of GET /models. Undefined if the connection closes. */
  async status(authorization = `Bearer ${parley.apiKey}`, more = ''): Promise<number | undefined> {
    this.received = '';
    this.socket.write(`GET ${models} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n${more}\r\n`);
    await expect.poll(() => this.isClosed || /\r\n\r\n.*\}$/s.test(this.received)).toBe(true);
    return this.received === '' ? undefined : Number(this.received.split(' ')[1]);
  }
}

const openOf = (some: readonly Client[]) => some.filter(({ isClosed }) => !isClosed).length;

describe('a port with as many connections as one address may have', () => {
  it('closes the oldest without a key for a new one of that address, and serves it', async () => {
    await start();
    const idle = await Client.many(3 * perAddress, '127.0.0.2');
    await expect.poll(() => openOf(idle)).toBe(perAddress);
    expect(openOf(idle.slice(-perAddress))).toBe(perAddress);
    const same = await Client.open('127.0.0.2');
    expect(await same.status()).toBe(200);
    await expect.poll(() => openOf(idle)).toBe(perAddress - 1);
    expect(await (await Client.open('127.0.0.1')).status()).toBe(200);
    expect(openOf(idle)).toBe(perAddress - 1);
  });

  it('closes the oldest idle one if all had a valid key, after any request', async () => {
    await start();
    const keyed = await Client.many(perAddress, '127.0.0.2');
    const noScope = await parley.newKey({ scopes: ['chat'] });
    const statuses = keyed.map((client, index) =>
      index % 2 === 0 ? client.status() : client.status(`Bearer ${noScope}`),
    );
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]));
    expect(await (await Client.open('127.0.0.2')).status()).toBe(200);
    await expect.poll(() => keyed[0]?.isClosed).toBe(true);
    expect(openOf(keyed)).toBe(perAddress - 1);
    expect(await keyed[1]?.status()).toBe(200);
  });

  it('closes the new one if all had a valid key and have a running request', async () => {
    await start();
    const keyed = await Client.many(perAddress, '127.0.0.2');
    for (const client of keyed) {
      expect(await client.status()).toBe(200);
      client.beginSpeech();
    }
    await expect.poll(() => keyed.every(({ received }) => received.includes(' 100 Continue'))).toBe(true);
    const further = await Client.open('127.0.0.2');
    await expect.poll(() => further.isClosed).toBe(true);
    expect(openOf(keyed)).toBe(perAddress);
    keyed[0]?.socket.destroy();
    await expect.poll(async () => (await Client.open('127.0.0.2')).status()).toBe(200);
  });

  it('answers each of many requests at once, also those for which there is no room', async () => {
    await start();
    const ask = async () => {
      const client = await Client.open('127.0.0.2');
      const status = await client.status();
      return { status, received: client.received };
    };
    const answers = await Promise.all(Array.from({ length: 20 * perAddress }, ask));
    const statuses = Map.groupBy(answers, ({ status }) => status);
    expect([...statuses.keys()].sort()).toEqual([200, 503]);
    for (const { received } of statuses.get(503) ?? []) {
      expect(received).toMatch(/^retry-after: 2\r$/im);
      expect(received).toContain('"code":"overloaded"');
    }
  });

  it('does not keep connections with an invalid key', async () => {
    await start();
    const failed = await Client.many(perAddress, '127.0.0.2');
    await Promise.all(failed.map((client) => client.status('Bearer pk_wrong')));
    expect(openOf(failed)).toBe(perAddress);
    expect(await (await Client.open('127.0.0.2')).status()).toBe(200);
    await expect.poll(() => openOf(failed)).toBe(perAddress - 1);
  });
});

it('a trusted proxy has no share, and its connections are not closed to make room', async () => {
  await start({ trustedProxies: ['127.0.0.2', '::1'] });
  const proxied = await Client.many(all, '127.0.0.2');
  const further = await Client.open('127.0.0.3');
  await expect.poll(() => further.isClosed).toBe(true);
  expect(openOf(proxied)).toBe(all);
});

describe('a full port', () => {
  const addresses = ['127.0.0.2', '127.0.0.3', '127.0.0.4'];

  it('closes the connection that has been without a key for the longest time', async () => {
    await start();
    const [keyed] = await Client.many(1, '127.0.0.5');
    expect(await keyed?.status()).toBe(200);
    const idle: Client[] = [];
    for (const address of addresses) idle.push(...(await Client.many(perAddress, address)));
    await expect.poll(() => openOf(idle)).toBe(all - 1);
    for (let time = 0; time < perAddress; time++) {
      expect(await (await Client.open('127.0.0.6')).status()).toBe(200);
    }
    await expect.poll(() => openOf(idle)).toBe(all - 1 - perAddress);
    expect(await keyed?.status()).toBe(200);
  });

  it('also closes a connection that watches the health without a key', async () => {
    await start({ headersMsMax: 600_000, pingEveryMs: 600_000 });
    const watching: Client[] = [];
    for (const address of addresses) watching.push(...(await Client.many(perAddress, address)));
    await expect.poll(() => openOf(watching)).toBe(all);
    const open = watching.filter(({ isClosed }) => !isClosed);
    for (const client of open) client.watchHealth();
    const isServing = '\0\0\0\0\x02\x08\x01';
    await expect.poll(() => open.every(({ received }) => received.includes(isServing))).toBe(true);
    expect(await (await Client.open('127.0.0.6')).status()).toBe(200);
    await expect.poll(() => openOf(open)).toBe(all - 1);
  });
});

describe('a connection counts as one with a key', () => {
  const isKept = async (carrier: { destroy(): unknown; readonly closed?: boolean }) => {
    clients.push({ socket: carrier });
    const further = await Client.open('127.0.0.1');
    await expect.poll(() => further.isClosed).toBe(true);
    expect(carrier.closed ?? false).toBe(false);
  };
  const get = () => ({ ':path': models, authorization: `Bearer ${parley.apiKey}` });

  it('over HTTP/2', async () => {
    await start({ connectionsPerAddressMax: 1 });
    const session = connectHttp2(new URL(parley.baseUrl).origin);
    await once(session.request(get()).resume(), 'end');
    await isKept(session);
  });

  it.each(['http/1.1', 'h2'])('over TLS, with %s', async (protocol) => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-tls-'));
    const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    const certificate = makeCertificate('localhost');
    writeFileSync(files.cert, certificate.cert);
    writeFileSync(files.key, certificate.key);
    await start({ connectionsPerAddressMax: 1 }, { tls: files });
    const { port } = new URL(parley.baseUrl);
    const options = { port: Number(port), host: '127.0.0.1', servername: 'localhost', ca: certificate.cert };
    const socket = connectTls({ ...options, ALPNProtocols: [protocol] });
    await once(socket, 'secureConnect');
    if (protocol === 'h2') {
      const session = connectHttp2('https://localhost', { createConnection: () => socket });
      await once(session.request(get()).resume(), 'end');
      await isKept(session);
    } else {
      const client = Client.on(socket);
      expect(await client.status()).toBe(200);
      client.beginSpeech();
      await expect.poll(() => client.received).toContain(' 100 Continue');
      await isKept(socket);
    }
    rmSync(folder, { recursive: true });
  });
});
