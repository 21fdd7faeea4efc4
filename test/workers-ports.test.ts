/** `serve --workers 2` with TLS, and with a port of its own for administration: each worker serves both ports. */
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCertificate } from './support/certificates.ts';
import { printed, type Serving, scratchFolder, serve, until } from './support/command-line.ts';
import { workersOf } from './support/processes.ts';

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
  /** To whom the certificate is issued. */
  readonly issuedTo: string;
}

describe('a server with two workers, TLS and a port for administration', { timeout: 60_000 }, () => {
  const folder = scratchFolder();
  const files = { cert: folder.file('cert.pem'), key: folder.file('key.pem') };
  let serving: Serving;
  let keys: { apiKey: string; adminKey: string };
  let urls: { baseUrl: string; adminBaseUrl: string; pid: number };

  const write = (name: string) => {
    const { cert, key } = makeCertificate(name);
    writeFileSync(files.cert, cert);
    writeFileSync(files.key, key);
  };
  beforeAll(async () => {
    write('first');
    writeFileSync(folder.file('parley.yaml'), JSON.stringify({ tls: files, admin: { port: 0 } }));
    serving = await serve(['--workers', '2', '--demo'], { cwd: folder.path });
    keys = JSON.parse(readFileSync(folder.file('data/first-run.json'), 'utf8'));
    urls = JSON.parse(readFileSync(folder.file('data/server.json'), 'utf8'));
  });
  afterAll(async () => {
    await serving?.close();
    folder.remove();
  });

  /** On a connection of its own: they go to the workers in turn. */
  const get = (url: string, key = keys.apiKey): Promise<Answer> => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const headers = { authorization: `Bearer ${key}` };
    const sent = request(url, { agent: false, headers, rejectUnauthorized: false });
    sent.on('response', (response) => {
      const issuedTo = String((response.socket as TLSSocket).getPeerCertificate().subject.CN);
      text(response).then((body) => resolve({ status: response.statusCode, body, issuedTo }), reject);
    });
    sent.on('error', reject).end();
    return promise;
  };
  const fourTimes = (url: string, key?: string) => Promise.all([1, 2, 3, 4].map(() => get(url, key)));
  const statuses = async (url: string, key?: string) =>
    (await fourTimes(url, key)).map(({ status }) => status);
  const served = async () => {
    expect(await statuses(`${urls.baseUrl}/models`)).toEqual([200, 200, 200, 200]);
    expect(await statuses(`${urls.baseUrl}/admin/accounts`, keys.adminKey)).toEqual([404, 404, 404, 404]);
    const there = `${urls.adminBaseUrl}/admin/accounts`;
    expect(await statuses(there, keys.adminKey)).toEqual([200, 200, 200, 200]);
    expect(await statuses(there)).toEqual([403, 403, 403, 403]);
    const metrics = (baseUrl: string) => statuses(new URL('/metrics', baseUrl).href, keys.adminKey);
    expect(await metrics(urls.baseUrl)).toEqual([404, 404, 404, 404]);
    expect(await metrics(urls.adminBaseUrl)).toEqual([200, 200, 200, 200]);
  };

  it('serves each port on both, encrypted', async () => {
    expect([urls.baseUrl, urls.pid]).toEqual([serving.baseUrl, serving.pid]);
    expect(urls.adminBaseUrl).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/api\/v1$/);
    expect(new URL(urls.adminBaseUrl).port).not.toBe(new URL(urls.baseUrl).port);
    await served();
  });

  it('is well for the commands, and managed by them', async () => {
    const env = { NODE_EXTRA_CA_CERTS: files.cert };
    const options = { cwd: folder.path, env };
    expect(await printed(['health', '--ready'], options)).toBe('ready\n');
    expect(await printed(['account', 'list'], options)).toContain('demo');
    expect(await printed(['models'], options)).toContain('flite');
  });

  it('takes a renewed certificate on both', async () => {
    write('second');
    await until(() => serving.stderr().split('took the new certificate').length === 3);
    for (const url of [urls.baseUrl, urls.adminBaseUrl]) {
      const issuedTo = (await fourTimes(`${url}/models`)).map((answer) => answer.issuedTo);
      expect(issuedTo).toEqual(['second', 'second', 'second', 'second']);
    }
  });

  it('has the same ports again after both workers have ended', async () => {
    for (const pid of workersOf(serving.pid)) process.kill(pid, 'SIGKILL');
    await until(() => serving.stderr().split('a worker has started').length === 3);
    await served();
  });
});
