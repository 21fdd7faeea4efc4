/** Confirmations of the addresses that alerts are mailed to. Each address gets a code by mail, and no alert before the code is entered. */
import { hash, randomBytes, randomUUID } from 'node:crypto';
import type { WaitingAddress } from '../entities/alert.ts';
import type { AuditEntry } from '../entities/audit.ts';
import type { MailSender, SendOutcome } from '../entities/mail.ts';
import { ParleyError } from '../values/errors.ts';
import type { AccountId } from '../values/ids.ts';
import { invalid } from '../values/parameters.ts';
import type { SendingDeps } from './deliveries.ts';
import { hostsOf } from './messages.ts';

/** Without letters that look like others. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** 60 bits. */
const codeDigits = 12;
/** A code is valid for a day. */
const dayMs = 86_400_000;
/** Pause between two codes for an address. */
const pauseMs = 60_000;
/** Codes in a day. */
const most = { account: 20, address: 5 } as const;

type ConfirmationsDeps = Pick<SendingDeps, 'store' | 'clock' | 'mail'>;

export class Confirmations {
  readonly #deps: ConfirmationsDeps;
  readonly #quota = new CodeQuota();

  constructor(deps: ConfirmationsDeps) {
    this.#deps = deps;
  }

  /** Sends first codes to addresses without any. A failure is in the state of its address. */
  async sendFirst(accountId: AccountId): Promise<void> {
    const { store, mail } = this.#deps;
    if (mail === undefined) return;
    const isNew = ({ codeHash, lastFailure }: WaitingAddress) => (codeHash ?? lastFailure) === undefined;
    const sendTo = async (waiting: WaitingAddress) => {
      const refusal = await this.#send(mail, accountId, waiting).catch((error) => error);
      if (!(refusal instanceof Error)) return;
      if (!(refusal instanceof ParleyError)) throw refusal;
      await store.alerts.setCode(accountId, undefined, { ...waiting, lastFailure: refusal.message });
    };
    await Promise.all((await this.#waiting(accountId)).filter(isNew).map(sendTo));
  }

  /** Sends another code, which replaces the one before. @throws `invalid_parameter`, `rate_limit_exceeded` */
  async sendAgain(accountId: AccountId, address: string): Promise<WaitingAddress> {
    const before = (await this.#waiting(accountId)).find((waiting) => waiting.address === address);
    if (before === undefined) throw invalid('address', 'This address does not wait for a confirmation.');
    const { mail } = this.#deps;
    if (mail !== undefined) return this.#send(mail, accountId, before);
    throw new ParleyError('engine_unavailable', { message: 'No server that sends mail runs here.' });
  }

  /** Returns the confirmed address. @throws `invalid_parameter` */
  async confirm(
    accountId: AccountId,
    code: string,
    auditOf: (details: { readonly mail: string }) => AuditEntry,
  ): Promise<string> {
    const { store, clock } = this.#deps;
    const codeHash = hashOf(code.toUpperCase().replace(/[^0-9A-Z]/g, ''));
    const nowMs = clock.now();
    const { address } =
      (await this.#waiting(accountId)).find(
        ({ codeHash: latest, expiresAtMs = 0 }) => latest === codeHash && expiresAtMs > nowMs,
      ) ?? {};
    const entry = address && auditOf({ mail: hostsOf({ kind: 'mail', addresses: [address] }) });
    if (address && entry && (await store.alerts.confirm(accountId, address, codeHash, entry))) return address;
    throw invalid('code', 'This code is not valid. It may have expired, or a newer one was sent.');
  }

  async #waiting(accountId: AccountId): Promise<readonly WaitingAddress[]> {
    return (await this.#deps.store.alerts.settings(accountId))?.waiting ?? [];
  }

  /** A code that surely does not arrive leaves the one before valid. @throws `rate_limit_exceeded` */
  async #send(mail: MailSender, accountId: AccountId, before: WaitingAddress): Promise<WaitingAddress> {
    const { store, clock } = this.#deps;
    const { address } = before;
    const nowMs = clock.now();
    // Another process may have sent it.
    checkPause(before.sentAtMs, nowMs);
    this.#quota.take(accountId, address, nowMs);
    const code = newCode();
    const codeHash = hashOf(code);
    const sent = { address, codeHash, sentAtMs: nowMs, expiresAtMs: nowMs + dayMs, lastFailure: undefined };
    if (!(await store.alerts.setCode(accountId, before.codeHash, sent))) {
      this.#quota.giveBack(address);
      checkPause(nowMs, nowMs);
    }
    const outcome = await mailCode(mail, accountId, address, code);
    if (outcome === 'accepted') return sent;
    const { failure: lastFailure, mayHaveArrived = false } = outcome;
    if (!mayHaveArrived) this.#quota.giveBack(address);
    const failed = { ...(mayHaveArrived ? sent : before), lastFailure };
    await store.alerts.setCode(accountId, codeHash, failed);
    return failed;
  }
}

function checkPause(sentAtMs: number | undefined, nowMs: number): void {
  const message = 'A code was sent to this address within the last minute. Wait, then try again.';
  checkWait((sentAtMs ?? 0) + pauseMs - nowMs, message);
}

/** @throws `rate_limit_exceeded` unless the wait is over */
function checkWait(waitMs: number, message: string): void {
  if (waitMs <= 0) return;
  throw new ParleyError('rate_limit_exceeded', { message, retryAfterSeconds: Math.ceil(waitMs / 1000) });
}

/** The codes that this process may still send, so that nobody floods the mailboxes of strangers through it. */
class CodeQuota {
  /** The times of the last day by account and by mailbox, of all accounts together; those with the latest time at the end. */
  readonly #times = new Map<string, readonly number[]>();

  /** Counts a code. @throws `rate_limit_exceeded` */
  take(accountId: AccountId, address: string, nowMs: number): void {
    const mailbox = address.toLowerCase();
    checkPause(this.#timesOf(mailbox, nowMs).at(-1), nowMs);
    const owners = { address: mailbox, account: accountId } as const;
    for (const whose of ['address', 'account'] as const) {
      const times = this.#timesOf(owners[whose], nowMs);
      const firstMs = times.at(-most[whose]) ?? 0;
      checkWait(firstMs + dayMs - nowMs, `The ${whose} has had ${most[whose]} codes within a day.`);
    }
    for (const name of [accountId, mailbox]) {
      const times = [...this.#timesOf(name, nowMs), nowMs];
      this.#times.delete(name);
      this.#times.set(name, times);
    }
    for (const name of this.#times.keys()) {
      if (this.#timesOf(name, nowMs).length > 0) break;
      this.#times.delete(name);
    }
  }

  /** The address did not get its latest code. The account has tried nevertheless. */
  giveBack(address: string): void {
    const mailbox = address.toLowerCase();
    this.#times.set(mailbox, this.#times.get(mailbox)?.slice(0, -1) ?? []);
  }

  #timesOf(name: string, nowMs: number): readonly number[] {
    return (this.#times.get(name) ?? []).filter((timeMs) => timeMs > nowMs - dayMs);
  }
}

function newCode(): string {
  return Array.from(randomBytes(codeDigits), (byte) => alphabet[byte % alphabet.length]).join('');
}

function hashOf(code: string): string {
  return hash('sha256', code, 'hex');
}

/** Without any words of the account, as these could be for strangers. */
function mailCode(
  mail: MailSender,
  accountId: AccountId,
  address: string,
  code: string,
): Promise<SendOutcome> {
  const text = `Somebody wants alerts of a Parley account to be mailed to this address. If you agree, enter this
code where the alerts are set, or give it to the person who asked you:

    ${code.replace(/.{4}(?=.)/g, '$&-')}

It is valid for 24 hours. If you do not expect this mail, do nothing: no alerts will be sent to you.

Account: ${accountId}
`;
  const subject = 'Confirm this address for alerts of Parley';
  return mail.send({ accountId, to: [address], subject, text, id: randomUUID() });
}
