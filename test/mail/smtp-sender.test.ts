/** Mail over real connections, to servers that take it, refuse it, or misbehave. */
import { createServer, type Server, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import type { Mail } from '../../src/core/entities/mail.ts';
import { isMailAddress } from '../../src/core/values/bounds.ts';
import { newAccountId } from '../../src/core/values/ids.ts';
import { type SmtpOptions, SmtpSender } from '../../src/mail/smtp-sender.ts';
import { makeCertificate } from '../support/certificates.ts';
import { freePort } from '../support/http-server.ts';
import { mailLogin, startMailServer } from '../support/mail-server.ts';
import { startMuteServer } from '../support/mute-server.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function mailServer(options?: Parameters<typeof startMailServer>[0]) {
  const server = await startMailServer(options);
  closing.push(() => server.close());
  return server;
}

const senderTo = (port: number, more: Partial<SmtpOptions> = {}) =>
  new SmtpSender({
    host: '127.0.0.1',
    port,
    tls: 'none',
    password: undefined,
    from: 'parley@example.com',
    ...more,
  });

const accountId = newAccountId(1);
const mail = (more: Partial<Mail> = {}): Mail => ({
  accountId,
  to: ['ops@example.com'],
  subject: 'acme: A test',
  text: 'Alerts arrive here.\n',
  id: 'alr_1',
  ...more,
});

/** A certificate that this process trusts until the end of the test. */
function trusted() {
  const certificate = makeCertificate('mail');
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, certificate.cert]);
  closing.push(() => setDefaultCACertificates(before));
  return certificate;
}

const late = { failure: 'The mail server did not answer in time.', isFinal: false, mayHaveArrived: true };

describe('a mail', () => {
  it('has its sender, its addresses, its words, and an id that is the same in each attempt', async () => {
    const server = await mailServer();
    const sender = senderTo(server.port);
    const to = ['ops@example.com', "o'hara+x@b.example"];
    expect(await sender.send(mail({ to }))).toBe('accepted');
    expect(await sender.send(mail({ to }))).toBe('accepted');
    const [first, second] = server.received;
    expect(first).toMatchObject({ from: 'parley@example.com', to, user: undefined });
    expect(first?.source.split('\r\n')).toEqual(
      expect.arrayContaining([
        'From: Parley <parley@example.com>',
        'Subject: acme: A test',
        'Message-ID: <alr_1@example.com>',
        'Auto-Submitted: auto-generated',
        'Content-Type: text/plain; charset=utf-8',
        'Alerts arrive here.',
      ]),
    );
    expect(second?.source).toContain('Message-ID: <alr_1@example.com>');
  });

  it.each(['starttls', 'implicit'] as const)('is sent with a login over TLS: %s', async (tls) => {
    const server = await mailServer({ ...trusted(), secure: tls === 'implicit' });
    const login = { tls, ...mailLogin };
    expect(await senderTo(server.port, login).send(mail())).toBe('accepted');
    expect(server.received).toMatchObject([{ user: mailLogin.user, isSecure: true }]);
    const wrong = { ...login, password: 'another password' };
    expect(await senderTo(server.port, wrong).send(mail())).toEqual({
      failure: 'The mail server refused the login.',
      isFinal: false,
    });
    expect(server.received).toHaveLength(1);
  });

  it('is not sent without the TLS, the certificate and the login that the settings demand', async () => {
    const secret = { tls: 'starttls', ...mailLogin } as const;
    const noTls = { failure: expect.stringContaining('no TLS connection'), isFinal: false };
    const plain = await mailServer();
    expect(await senderTo(plain.port, secret).send(mail())).toEqual(noTls);
    expect(await senderTo(plain.port, { ...secret, tls: 'implicit' }).send(mail())).toEqual(noTls);
    const untrusted = await mailServer(makeCertificate('mail'));
    expect(await senderTo(untrusted.port, secret).send(mail())).toEqual(noTls);
    const open = await mailServer({ ...trusted(), disabledCommands: ['AUTH'] });
    expect(await senderTo(open.port, secret).send(mail())).toMatchObject({
      failure: 'The mail server refused the login.',
    });
    expect([plain, untrusted, open].flatMap(({ received }) => received)).toEqual([]);
  });

  it('cannot carry another header or another command', async () => {
    const server = await mailServer();
    const subject = 'acme\r\nBcc: victim@example.com\r\n\r\nWords: A test';
    expect(await senderTo(server.port).send(mail({ subject, text: '.\r\nRSET\r\n' }))).toBe('accepted');
    const [one] = server.received;
    expect(one?.to).toEqual(['ops@example.com']);
    const [head = ''] = one?.source.split('\r\n\r\n') ?? [];
    expect(head).not.toMatch(/^(bcc|words):/im);
    expect(head).toMatch(/^Subject: acme Bcc: victim@example\.com/m);
    for (const address of [
      'a@b.c\r\nRCPT TO:<x@y.z>',
      'a@b.c,d@e.f',
      '<a@b.c>',
      'a b@c.d',
      '"a"@b.c',
      'a@',
      'a@b..c',
    ])
      expect(isMailAddress(address)).toBe(false);
    for (const address of ['a@b.c', 'a.b+c@d-e.example', 'root@localhost'])
      expect(isMailAddress(address)).toBe(true);
  });

  it('that is refused with 5xx is not tried again, and one with 4xx is', async () => {
    const server = await mailServer();
    const sender = senderTo(server.port);
    server.refusedAddresses.set('ops@example.com', 550);
    expect(await sender.send(mail())).toEqual({
      failure: 'The mail server refused the address with the code 550.',
      isFinal: true,
    });
    server.refusedAddresses.set('ops@example.com', 450);
    expect(await sender.send(mail())).toMatchObject({ isFinal: false });
    server.refusedAddresses.clear();
    server.refusal = 554;
    expect(await sender.send(mail())).toEqual({
      failure: 'The mail server refused the mail with the code 554.',
      isFinal: true,
    });
    server.refusal = 451;
    expect(await sender.send(mail())).toMatchObject({ isFinal: false });
    server.refusal = undefined;
    server.refusedAddresses.set('gone@example.com', 550);
    expect(await sender.send(mail({ to: ['ops@example.com', 'gone@example.com'] }))).toEqual({
      failure:
        'The mail server refused the address gone@example.com with the code 550. It took the mail for the other addresses.',
      isFinal: true,
    });
    expect(server.received.at(-1)?.to).toEqual(['ops@example.com']);
  });

  it('is one of at most 30 that an account has in an hour', async () => {
    const server = await mailServer();
    const sender = senderTo(server.port);
    for (let sent = 0; sent < 30; sent++) expect(await sender.send(mail())).toBe('accepted');
    expect(await sender.send(mail())).toEqual({
      failure: 'The account has had 30 mails within an hour.',
      isFinal: false,
      retryAfterMs: expect.closeTo(3_600_000, -6),
    });
    expect(await sender.send(mail({ accountId: newAccountId(2) }))).toBe('accepted');
    expect(server.received).toHaveLength(31);
  });
});

/** A server that answers as it wants. */
async function startHostile(onConnection: (socket: Socket) => void): Promise<number> {
  const sockets: Socket[] = [];
  const server: Server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Writes whenever the client has read. */
function pour(socket: Socket, text: string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(text));
  };
  socket.on('drain', more);
  more();
}

describe('a mail server', () => {
  it('that never answers, or answers bit by bit, is left in time', async () => {
    const mute = await startMuteServer();
    closing.push(() => mute.close());
    const hurried = { attemptMsMax: 200 };
    expect(await senderTo(mute.port, hurried).send(mail())).toEqual(late);
    const closed = Promise.withResolvers<void>();
    const slow = await startHostile((socket) => {
      const timer = setInterval(() => socket.write('220-a\r\n'), 10);
      socket.once('close', () => {
        clearInterval(timer);
        closed.resolve();
      });
    });
    expect(await senderTo(slow, hurried).send(mail())).toEqual(late);
    expect(await senderTo(slow, hurried).check()).toBe(late.failure);
    await closed.promise;
    const holding = await mailServer();
    holding.holds = true;
    expect(await senderTo(holding.port, { attemptMsMax: 1_000 }).send(mail())).toEqual(late);
    expect(holding.received).toHaveLength(1);
  });

  it('that answers without an end is left', async () => {
    for (const text of ['a'.repeat(65_536), `220-${'a'.repeat(500)}\r\n`]) {
      const closed = Promise.withResolvers<void>();
      const endless = await startHostile((socket) => {
        pour(socket, text);
        socket.once('close', closed.resolve);
      });
      expect(await senderTo(endless).send(mail())).toMatchObject({ isFinal: false });
      await closed.promise;
    }
  });

  it('that is busy, away or breaks connections is tried again', async () => {
    const busy = await startHostile((socket) => socket.end('421 4.3.2 Try later\r\n'));
    expect(await senderTo(busy).send(mail())).toEqual({
      failure: 'The mail server refused the connection with the code 421.',
      isFinal: false,
    });
    const breaking = await startHostile((socket) => socket.destroy());
    const broken = { failure: expect.stringContaining('could not be reached'), isFinal: false };
    expect(await senderTo(breaking).send(mail())).toEqual({ ...broken, mayHaveArrived: true });
    expect(await senderTo(await freePort()).send(mail())).toEqual(broken);
    // Refuses all that come from here, which the operator may mend.
    const closed = await startHostile((socket) => socket.end('554 5.7.1 Go away\r\n'));
    expect(await senderTo(closed).send(mail())).toMatchObject({ isFinal: false });
  });

  it('is left at once when the attempt ends', async () => {
    const server = await mailServer();
    server.holds = true;
    const leaving = new AbortController();
    const sent = senderTo(server.port).send(mail(), leaving.signal);
    await expect.poll(() => server.received.length).toBe(1);
    leaving.abort();
    expect(await sent).toMatchObject({ isFinal: false });
  });

  it('is checked with the login, and without a mail', async () => {
    const server = await mailServer(trusted());
    const login = { tls: 'starttls', ...mailLogin } as const;
    expect(await senderTo(server.port, login).check()).toBeUndefined();
    expect(await senderTo(server.port, { ...login, password: 'no' }).check()).toBe(
      'The mail server refused the login.',
    );
    expect(await senderTo(await freePort()).check()).toContain('could not be reached');
    expect(server.received).toEqual([]);
  });
});
