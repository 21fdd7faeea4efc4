import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app/create-app.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { type Certificate, makeCertificate } from '../../support/certificates.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { scratchPath } from '../../support/scratch-path.ts';

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const folder = scratchPath('tls');
const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };

function write({ cert, key }: Certificate): void {
  writeFileSync(files.cert, cert);
  writeFileSync(files.key, key);
}

describe('TLS', () => {
  const certificate = makeCertificate('first');
  const ca = certificate.cert;
  const logged: { level: string; message: string }[] = [];
  const note = (level: string) => (_: object, message: string) => logged.push({ level, message });
  let parley: Parley;
  let origin: string;
  let authorization: string;

  beforeAll(async () => {
    write(certificate);
    parley = await startParley({
      settings: { tls: files, server: { headersMsMax: 1000, idleMs: 60_000 } },
      log: { info: note('info'), warn: note('warn'), error: note('error') },
    });
    ({ origin } = new URL(parley.baseUrl));
    authorization = `Bearer ${parley.apiKey}`;
  });
  afterAll(() => parley.close());

  /** A connection after the handshake. */
  const handshake = async (options: ConnectionOptions = {}): Promise<TLSSocket> => {
    const socket = connectTls({ host: 'localhost', port: Number(new URL(origin).port), ca, ...options });
    socket.on('error', () => undefined);
    await once(socket, 'secureConnect');
    return socket;
  };
  const closed = async (socket: Socket) => {
    socket.resume();
    if (!socket.closed) await once(socket, 'close');
  };
  const issuedTo = async () => {
    const socket = await handshake({ rejectUnauthorized: false });
    const { subject } = socket.getPeerCertificate();
    socket.destroy();
    return subject.CN;
  };

  it('is requested in plain HTTP by a client that sends plain HTTP', async () => {
    for (const method of ['GET', 'POST']) {
      const socket = connectTcp({ host: 'localhost', port: Number(new URL(origin).port) });
      socket.on('error', () => undefined);
      socket.write(`${method} / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}`);
      const [head, body = ''] = (await text(socket)).split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\ncontent-type: application\/json\r\n/);
      expect(JSON.parse(body).error).toMatchObject({
        code: 'invalid_request_error',
        message: expect.stringContaining('https://'),
      });
    }
  });

  it('is in the scheme of the base URL', () => {
    expect(parley.baseUrl).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/api\/v1$/);
  });

  it.each([
    [['h2', 'http/1.1'], 'h2'],
    [['http/1.1', 'h2'], 'h2'],
    [['http/1.1'], 'http/1.1'],
    [undefined, false],
  ])('agrees with a client that speaks %j on %j', async (protocols, agreed) => {
    const socket = await handshake(protocols ? { ALPNProtocols: protocols } : {});
    expect(socket.alpnProtocol).toBe(agreed);
    socket.destroy();
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('is %s if the client asks for it', async (version) => {
    const socket = await handshake({ minVersion: version, maxVersion: version });
    expect(socket.getProtocol()).toBe(version);
    socket.destroy();
  });

  it('is nothing older', async () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    await expect(
      once(connectTls({ port: Number(new URL(origin).port), ca, ...old }), 'secureConnect'),
    ).rejects.toThrow(/protocol version|unsupported protocol/);
  });

  describe.each([
    ['HTTP/1.1', false],
    ['HTTP/2', true],
  ])('carries over %s', (_, allowH2) => {
    const dispatcher = new Agent({ allowH2, connect: { ca } });
    afterAll(() => dispatcher.close());
    const call = (path: string, body?: object) =>
      request(parley.baseUrl + path, {
        dispatcher,
        headers: { authorization },
        ...(body && { method: 'POST' as const, body: JSON.stringify(body) }),
      });
    it('audio as it is made', async () => {
      const { statusCode, body } = await call('/audio/speech', { model: 'flite', input: 'Good morning.' });
      expect(statusCode).toBe(200);
      expect((await body.arrayBuffer()).byteLength).toBeGreaterThan(5000);
    });

    it('an upload of a megabyte', async () => {
      const messages = [{ role: 'user', content: 'Hello.' }];
      const own = 'x'.repeat(1_000_000);
      const { statusCode, body } = await call('/chat/completions', { model: 'eliza', messages, own });
      expect(statusCode).toBe(200);
      expect(JSON.parse(await body.text()).usage.completion_tokens).toBeGreaterThan(0);
    });
  });

  describe('closes in time', () => {
    const port = () => Number(new URL(origin).port);

    it('a client that does not begin or end the handshake', async () => {
      const silent = connectTcp(port(), '127.0.0.1');
      const halfway = connectTcp(port(), '127.0.0.1');
      halfway.write(Buffer.from('16030100c8010000c40303', 'hex'));
      await Promise.all([closed(silent), closed(halfway)]);
    });

    it.each([['h2'], ['http/1.1']])(
      'a client of %s that sends nothing after the handshake',
      async (protocol) => {
        await closed(await handshake({ ALPNProtocols: [protocol] }));
      },
    );

    it('a client that does not end its headers', async () => {
      const socket = await handshake({ ALPNProtocols: ['http/1.1'] });
      socket.write('GET /api/v1/models HTTP/1.1\r\nhost:');
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 .*"invalid_request_error"/s);
    });
  });

  describe('when the files change', () => {
    const errors = () => logged.filter(({ level }) => level === 'error');
    const waitMs = { timeout: 120_000 };

    it('serves the new pair to new connections, and keeps the existing ones', async () => {
      const session = connectHttp2(origin, { ca });
      await once(session, 'connect');
      write(makeCertificate('second'));
      await expect.poll(issuedTo, waitMs).toBe('second');
      expect(logged).toContainEqual({ level: 'info', message: 'loaded the new certificate' });
      expect(await statusOver(session)).toBe(200);
      session.close();
    });

    const statusOver = async (session: ClientHttp2Session) => {
      const stream = session.request({ ':path': '/api/v1/models', authorization });
      const [headers] = await once(stream, 'response');
      stream.resume();
      return headers[':status'];
    };

    it.each<[string, () => void, RegExp]>([
      [
        'the key of another certificate',
        () => writeFileSync(files.key, makeCertificate('third').key),
        /is not the key of the certificate in/,
      ],
      [
        'no certificate',
        () => writeFileSync(files.cert, 'nothing'),
        /`tls\.cert`: .*cert\.pem is not a certificate in PEM/,
      ],
      [
        'nothing at all',
        () => rmSync(files.cert),
        /`tls\.cert`: .* cannot be read \(there is no such file or folder\)/,
      ],
    ])('keeps the previous pair if the files contain %s, and logs that once', async (_, spoil, words) => {
      const before = errors().length;
      spoil();
      await expect.poll(() => errors().length, waitMs).toBe(before + 1);
      expect(errors().at(-1)?.message).toMatch(words);
      expect(await issuedTo()).toBe('second');
    });

    it('waits for the second file of a pair if only the first has changed', async () => {
      const before = errors().length;
      const pair = makeCertificate('written slowly');
      // Checks are two seconds apart, and the previous test ended with one.
      await sleep(1000);
      writeFileSync(files.cert, pair.cert);
      // Long enough for one check, too short for two.
      await sleep(1500);
      writeFileSync(files.key, pair.key);
      await expect.poll(issuedTo, waitMs).toBe('written slowly');
      expect(errors().length).toBe(before);
    });

    it('uses the next good pair, with the minimum of TLS 1.2 as before', async () => {
      write(makeCertificate('fourth'));
      await expect.poll(issuedTo, waitMs).toBe('fourth');
      const old = { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
      await expect(
        once(connectTls({ port: Number(new URL(origin).port), ...old }), 'secureConnect'),
      ).rejects.toThrow();
    });
  });
});

describe('the settings of TLS', () => {
  const good = makeCertificate('good');
  const start = (tls: { cert: string; key: string }) =>
    createApp(loadConfig({ env: {}, overrides: { tls, dataDir: join(folder, 'data') } }));
  const path = (name: string, content: string) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };

  it.each([
    [
      { PARLEY_TLS_CERT: 'a.pem' },
      '`tls.key` is missing. It must be the file of the private key of `tls.cert`.',
    ],
    [
      { PARLEY_TLS_KEY: 'a.pem' },
      '`tls.cert` is missing. It must be the file of the certificate of `tls.key`.',
    ],
  ])('must be both files, not %j alone', (env, finding) => {
    expect(() => loadConfig({ env })).toThrow(finding);
  });

  it.each([
    [
      'that are there',
      '/nowhere/a.pem',
      path('good-key.pem', good.key),
      '`tls.cert`: /nowhere/a.pem cannot be read (there is no such file or folder).',
    ],
    [
      'that are files',
      path('good.pem', good.cert),
      folder,
      `\`tls.key\`: ${folder} cannot be read (it is a folder).`,
    ],
    [
      'that hold a certificate',
      path('no.pem', 'x'),
      path('good-key.pem', good.key),
      'no.pem is not a certificate in PEM.',
    ],
    [
      'that hold a key',
      path('good.pem', good.cert),
      path('no.pem', 'x'),
      'no.pem is not an unencrypted key in PEM.',
    ],
    [
      'that belong together',
      path('good.pem', good.cert),
      path('other-key.pem', makeCertificate('other').key),
      `other-key.pem is not the key of the certificate in ${folder}/good.pem.`,
    ],
  ])('must be files %s, or the server does not start', async (_, cert, key, words) => {
    await expect(start({ cert, key })).rejects.toThrow(words);
  });
});
