/** Sends mail over SMTP. Each attempt has its own connection. */
import { setTimeout as wait } from 'node:timers/promises';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Mail, MailSender, SendFailure, SendOutcome } from '../core/entities/mail.ts';

const attemptMsByDefault = 10_000;
/** Per account and hour, so that nobody floods a mailbox through this server. */
const mailsPerHour = 30;
const replyBytesMax = 65_536;
const ports = { starttls: 587, implicit: 465, none: 25 } as const;

export interface SmtpOptions {
  readonly host: string;
  /** Default: the usual one for `tls`. */
  readonly port?: number | undefined;
  readonly tls: keyof typeof ports;
  /** Undefined without a login, as is the password. */
  readonly user?: string | undefined;
  readonly password: string | undefined;
  readonly from: string;
  /** Limit for the whole attempt. Default: 10 seconds */
  readonly attemptMsMax?: number;
}

export class SmtpSender implements MailSender {
  readonly #options: SmtpOptions;
  readonly #attemptMsMax: number;
  readonly #rate = new RateLimiterMemory({ points: mailsPerHour, duration: 3_600 });

  constructor(options: SmtpOptions) {
    this.#options = options;
    this.#attemptMsMax = options.attemptMsMax ?? attemptMsByDefault;
  }

  async send(mail: Mail, signal?: AbortSignal): Promise<SendOutcome> {
    try {
      await this.#rate.consume(mail.accountId);
      return await this.#send(mail, signal);
    } catch (error) {
      if (error instanceof RateLimiterRes) {
        const failure = `The account has had ${mailsPerHour} mails within an hour.`;
        return { failure, isFinal: false, retryAfterMs: error.msBeforeNext };
      }
      return failureOf(error);
    }
  }

  /** Connects and logs in, and sends nothing. Returns a sentence about a failure. */
  async check(): Promise<string | undefined> {
    const transport = await this.#open();
    try {
      const late = wait(this.#attemptMsMax, undefined, { ref: false }).then(() => {
        throw Object.assign(new Error('late'), { code: 'ETIMEDOUT' });
      });
      await Promise.race([transport.verify(), late]);
      return undefined;
    } catch (error) {
      return failureOf(error).failure;
    }
  }

  async #send({ to, subject, text, id }: Mail, signal?: AbortSignal): Promise<SendOutcome> {
    const { from } = this.#options;
    const time = AbortSignal.timeout(this.#attemptMsMax);
    const transport = await this.#open();
    const { rejected, rejectedErrors } = await transport.sendMail({
      from: { name: 'Parley', address: from },
      to: [...to],
      subject,
      text,
      messageId: `<${id}@${from.replace(/^.*@/, '')}>`,
      // Keeps automatic answers away, by RFC 3834.
      headers: { 'auto-submitted': 'auto-generated' },
      disableFileAccess: true,
      disableUrlAccess: true,
      signal: signal ? AbortSignal.any([signal, time]) : time,
    });
    if (rejected.length === 0) return 'accepted';
    // Another attempt would reach the other addresses twice.
    const { failure } = failureOf(rejectedErrors?.[0]);
    return { failure: `${failure} It took the mail for the other addresses.`, isFinal: true };
  }

  async #open() {
    const { host, tls, port = ports[tls], user, password = '' } = this.#options;
    // Loaded for the first attempt: most servers send no mail. In a bundle, CommonJS has a default export only.
    const { default: nodemailer } = await import('nodemailer');
    const ms = this.#attemptMsMax;
    return nodemailer.createTransport({
      host,
      port,
      secure: tls === 'implicit',
      requireTLS: tls === 'starttls',
      ignoreTLS: tls === 'none',
      // Without the second setting, it sends without a login where the server offers none.
      ...(user !== undefined && { auth: { user, pass: password }, forceAuth: true }),
      dnsTimeout: ms,
      connectionTimeout: ms,
      greetingTimeout: ms,
      socketTimeout: ms,
      socketCloseTimeout: 1_000,
      maxResponseSize: replyBytesMax,
    });
  }
}

interface SmtpError {
  readonly code?: unknown;
  /** The code of the error that caused it. */
  readonly originalCode?: unknown;
  readonly command?: unknown;
  readonly responseCode?: unknown;
  readonly recipient?: unknown;
}

/** The sentence reveals only the code and the address of the server's answer. */
function failureOf(error: unknown): SendFailure {
  const { code, originalCode, command, responseCode, recipient } = Object(error) as SmtpError;
  const failed = (failure: string, mayHaveArrived = false) => {
    return { failure, isFinal: false, ...(mayHaveArrived && { mayHaveArrived }) };
  };
  if (code === 'EAUTH') return failed('The mail server refused the login.');
  if (code === 'EDNS') return failed('The name of the mail server could not be looked up.');
  if (code === 'ETLS' || /CERT|SIGNATURE|ERR_TLS|ERR_SSL/.test(String(originalCode)))
    return failed('The mail server offers no TLS connection with a valid certificate.');
  if (typeof responseCode === 'number') {
    const what = { 'MAIL FROM': 'the sender', 'RCPT TO': 'the address', DATA: 'the mail' }[String(command)];
    const whom = typeof recipient === 'string' ? ` ${recipient}` : '';
    const failure = `The mail server refused ${what ?? 'the connection'}${whom} with the code ${responseCode}.`;
    // A refused login or sender is for the operator to correct, so the mail is tried again.
    const isOfMail = command === 'RCPT TO' || command === 'DATA';
    return { failure, isFinal: isOfMail && responseCode >= 500 && responseCode !== 503 };
  }
  // The server may have taken the mail: it was reached and gave no answer.
  const isLate = code === 'ETIMEDOUT' || code === 'EABORT';
  const failure = isLate ? 'did not answer in time.' : 'could not be reached, or broke the connection.';
  return failed(`The mail server ${failure}`, originalCode !== 'ECONNREFUSED');
}
