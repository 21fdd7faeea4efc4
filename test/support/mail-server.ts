/** A real SMTP server that keeps its mails, and refuses as a test decides. */
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly user: string | undefined;
  readonly isSecure: boolean;
  /** Header and body as sent. */
  readonly source: string;
}

export interface MailServer {
  readonly port: number;
  readonly received: ReceivedMail[];
  /** The codes with which the next addresses are refused. */
  readonly refusedAddresses: Map<string, number>;
  /** The code with which the next mails are refused. Default: none are */
  refusal: number | undefined;
  /** Whether it leaves mails without an answer. */
  holds: boolean;
  breakConnections(): void;
  close(): Promise<void>;
}

/** The code with which the mail lets its address be confirmed. */
export function codeIn(mail: ReceivedMail | undefined): string {
  // On a line of its own, as an id in the head may look alike.
  return /^ {4}((?:[0-9A-Z]{4}-){2}[0-9A-Z]{4})\r?$/m.exec(mail?.source ?? '')?.[1] ?? '';
}

/** The only login that it takes. */
export const mailLogin = { user: 'parley', password: 'a password' };

/** @param options of the server. Default: no TLS, and a login is not needed */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const received: ReceivedMail[] = [];
  const refused = (responseCode: number) => Object.assign(new Error('no'), { responseCode });
  const smtp = new SMTPServer({
    authOptional: true,
    ...(options.key === undefined && { disabledCommands: ['STARTTLS'] }),
    disableReverseLookup: true,
    logger: false,
    onAuth: ({ username, password }, _session, done) => {
      const isRight = username === mailLogin.user && password === mailLogin.password;
      done(isRight ? null : refused(535), isRight ? { user: username } : {});
    },
    onRcptTo: ({ address }, _session, done) => {
      const code = server.refusedAddresses.get(address);
      done(code === undefined ? null : refused(code));
    },
    onData: async (stream, { envelope, user, secure }, done) => {
      const source = await text(stream);
      const to = envelope.rcptTo.map(({ address }) => address);
      const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
      const isSecure = secure === true;
      received.push({ from, to, user: typeof user === 'string' ? user : undefined, isSecure, source });
      if (!server.holds) done(server.refusal === undefined ? null : refused(server.refusal));
    },
    ...options,
  });
  // Clients that give up break their connections.
  smtp.on('error', () => undefined);
  const listener = smtp.listen(0, '127.0.0.1');
  await new Promise((resolve) => listener.once('listening', resolve));
  const { port } = listener.address() as AddressInfo;
  const server: MailServer = {
    port,
    received,
    refusedAddresses: new Map(),
    refusal: undefined,
    holds: false,
    breakConnections: () => {
      for (const connection of smtp.connections) connection.close();
    },
    close: () =>
      new Promise((resolve) => {
        server.breakConnections();
        smtp.close(() => resolve());
      }),
  };
  return server;
}
