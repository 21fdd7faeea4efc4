/** Webhooks over real connections: their targets, and their failures. */
import { createSocket } from 'node:dgram';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { httpSender, resolverOf, type SenderOptions } from '../../src/webhooks/http-sender.ts';
import { makeCertificate } from '../support/certificates.ts';
import { freePort, startHttp } from '../support/http-server.ts';
import { startMuteServer } from '../support/mute-server.ts';
import { startReceiver, toReceivers, type WebhookReceiver } from '../support/webhook-receiver.ts';

let receiver: WebhookReceiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

const sender = (options: Partial<SenderOptions> = {}) =>
  httpSender({ rules: toReceivers, userAgent: 'Parley/test', ...options });
const closed = { rules: { allowedNetworks: [] } };
const post = (url: string, options?: Partial<SenderOptions>) =>
  sender(options).send({
    method: 'POST',
    url,
    receiver: 'The webhook',
    headers: { 'content-type': 'application/json' },
    body: '{"a":1}',
  });

/** Resolves every name to these addresses, and counts. */
function resolving(...addresses: string[]) {
  const names: string[] = [];
  const resolve: NonNullable<SenderOptions['resolve']> = (name) => {
    names.push(name);
    return Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
  };
  return { resolve, names };
}

/** The same for a name without an address: callers cannot find out which names the server's network knows. */
const refused = { failure: 'The name of the webhook has no public address.' };
const portOf = ({ origin }: WebhookReceiver) => new URL(origin).port;

describe('a webhook', () => {
  it('gets the body and the headers', async () => {
    expect(await post(`${receiver.origin}/a?b=c`)).toEqual({ status: 200 });
    expect(receiver.received).toMatchObject([
      {
        path: '/a?b=c',
        body: '{"a":1}',
        headers: { 'content-type': 'application/json', 'user-agent': 'Parley/test', 'content-length': '7' },
      },
    ]);
  });

  it('is not reached at a private address, in digits or by name', async () => {
    expect(await post(receiver.origin, closed)).toEqual(refused);
    expect(await post(`http://[::1]:${portOf(receiver)}`, closed)).toEqual(refused);
    expect(await post(`http://localhost:${portOf(receiver)}`, closed)).toEqual(refused);
    expect(await post(`https://localhost:${portOf(receiver)}`, closed)).toEqual(refused);
    const { resolve, names } = resolving('10.0.0.1', '169.254.169.254', '::ffff:127.0.0.1');
    expect(await post('https://metadata.example', { ...closed, resolve })).toEqual(refused);
    expect(names).toEqual(['metadata.example']);
    expect(receiver.received).toEqual([]);
  });

  it('is resolved for each attempt, and only its allowed addresses are connected to', async () => {
    const addresses = resolving('10.255.255.1', '127.0.0.1');
    const url = `http://hook.example:${portOf(receiver)}/`;
    expect(await post(url, { resolve: addresses.resolve })).toEqual({ status: 200 });
    const changed = resolving('10.255.255.1');
    expect(await post(url, { resolve: changed.resolve })).toEqual(refused);
  });

  it('is not followed to another place', async () => {
    receiver.status = 307;
    expect(await post(receiver.origin)).toEqual({ status: 307 });
    expect(receiver.received).toHaveLength(1);
  });

  it('must have a certificate of its name that is trusted', async () => {
    const certificate = makeCertificate('webhook');
    const secure = await startReceiver(certificate);
    const { resolve } = resolving('127.0.0.1');
    const trusted = getCACertificates('default');
    try {
      const untrusted = { failure: 'The TLS certificate of the webhook could not be verified.' };
      const url = `https://localhost:${portOf(secure)}/`;
      expect(await post(url, { resolve })).toEqual(untrusted);
      setDefaultCACertificates([...trusted, certificate.cert]);
      expect(await post(url, { resolve })).toEqual({ status: 200 });
      expect(await post(`https://other.example:${portOf(secure)}/`, { resolve })).toEqual(untrusted);
      expect(secure.received).toHaveLength(1);
    } finally {
      setDefaultCACertificates(trusted);
      await secure.close();
    }
  });

  it('that does not answer, is unreachable or has no address fails with one sentence', async () => {
    const mute = await startMuteServer();
    expect(await post(`http://127.0.0.1:${mute.port}`, { attemptMsMax: 50 })).toEqual({
      failure: 'The webhook did not answer in time.',
    });
    await mute.close();
    expect(await post(`http://127.0.0.1:${await freePort()}`)).toEqual({
      failure: 'The webhook could not be reached.',
    });
    const missing: NonNullable<SenderOptions['resolve']> = () =>
      Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' }));
    expect(await post('https://hook.example', { resolve: missing })).toEqual(refused);
  });

  it('whose name is never resolved fails in time', async () => {
    expect(
      await post('https://hook.example', { attemptMsMax: 50, resolve: () => new Promise(() => undefined) }),
    ).toEqual({ failure: 'The webhook did not answer in time.' });
  });

  it('that has too many requests may say when to come back, in its header or as Matrix does', async () => {
    receiver.status = 429;
    receiver.answer = '{"retry_after_ms": 2500}';
    expect(await post(receiver.origin)).toEqual({ status: 429, retryAfterMs: 2_500 });
    receiver.retryAfter = '7';
    expect(await post(receiver.origin)).toEqual({ status: 429, retryAfterMs: 7_000 });
    receiver.retryAfter = 'Wed, 21 Oct 2026 07:28:00 GMT';
    for (const answer of ['', 'null', '[]', '{"retry_after_ms": -1}', '{"retry_after_ms": "1"}', '{']) {
      receiver.answer = answer;
      expect(await post(receiver.origin)).toEqual({ status: 429 });
    }
    receiver.status = 200;
    receiver.retryAfter = '7';
    expect(await post(receiver.origin)).toEqual({ status: 200 });
  });

  it('that never ends the answer of which a part is read does not hold the attempt', async () => {
    const holding = await startHttp((_request, response) => void response.writeHead(429).write('{'));
    expect(await post(holding.origin, { attemptMsMax: 300 })).toEqual({ status: 429 });
    await holding.close();
  });

  it.each([200, 429])('cannot send an endless answer: %i', async (status) => {
    const closed = Promise.withResolvers<void>();
    const endless = await startHttp((_request, response) => {
      response.writeHead(status);
      const more = () => {
        while (response.write('a'.repeat(65_536)));
      };
      response.on('drain', more).once('close', closed.resolve);
      more();
    });
    expect(await post(endless.origin)).toEqual({ status });
    await closed.promise;
    await endless.close();
  });
});

describe('a name', () => {
  it('whose servers do not answer delays no other, and its failure may be temporary', async () => {
    const dns = createSocket('udp4');
    const asked: string[] = [];
    const bound = Promise.withResolvers<void>();
    dns.bind(0, '127.0.0.1', bound.resolve);
    await bound.promise;
    dns.on('message', (question, { port, address }) => {
      const name = question.subarray(13, 13 + (question[12] ?? 0)).toString();
      asked.push(name);
      if (name === 'mute') return;
      // An answer without any record.
      const answer = Buffer.from(question);
      answer[2] = 0x81;
      answer[3] = 0x80;
      dns.send(answer, port, address);
    });
    const resolve = resolverOf({ asksSystem: false, servers: [`127.0.0.1:${dns.address().port}`] });
    const leaving = new AbortController();
    const mute = Array.from({ length: 30 }, () =>
      resolve('mute.example', leaving.signal).catch(({ code }: { code: string }) => code),
    );
    await expect.poll(() => asked.length).toBeGreaterThanOrEqual(60);
    expect(await post('https://none.example', { ...closed, resolve })).toEqual(refused);
    leaving.abort();
    expect(new Set(await Promise.all(mute))).toEqual(new Set(['ECANCELLED']));
    const away = () => Promise.reject(Object.assign(new Error('away'), { code: 'ESERVFAIL' }));
    expect(await post('https://hook.example', { resolve: away })).toEqual({
      failure: 'The name of the webhook could not be looked up.',
    });
    dns.close();
  });
});
