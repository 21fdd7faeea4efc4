/** Confirmations of the addresses that alerts are mailed to. Each address gets a code by mail, and no alert before the code is entered. */
import { hash, randomBytes, randomUUID } from 'node:crypto';
import type { AlertStore, MailSender, SendOutcome, WaitingAddress } from '../entities/alert.ts';
import type { AuditEntry } from '../entities/audit.ts';
import type { Clock } from '../values/clock.ts';
import { ParleyError } from '../values/errors.ts';
import type { AccountId } from '../values/ids.ts';
import { invalid } from '../values/parameters.ts';
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

interface Refusal {
  readonly message: string;
  readonly waitMs: number;
}

export interface ConfirmationsDeps {
  readonly store: { readonly alerts: AlertStore };
  readonly clock: Clock;
  /** Undefined if nothing is mailed from here. */
  readonly mail: MailSender | undefined;
}

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
      const { message: lastFailure } = (await this.#send(mail, accountId, waiting)) ?? {};
      if (lastFailure) await store.alerts.setCode(accountId, undefined, { ...waiting, lastFailure });
    };
    await Promise.all((await this.#waiting(accountId)).filter(isNew).map(sendTo));
  }

  /** Sends another code, which replaces the one before. @throws `invalid_parameter`, `rate_limit_exceeded` */
  async sendAgain(accountId: AccountId, address: string): Promise<WaitingAddress | undefined> {
    const { mail } = this.#deps;
    const find = async () => (await this.#waiting(accountId)).find((waiting) => waiting.address === address);
    const before = await find();
    if (before === undefined) {
      throw invalid('address', 'This address does not wait for a confirmation.');
    }
    if (mail === undefined) {
      throw new ParleyError('engine_unavailable', { message: 'No server that sends mail runs here.' });
    }
    const refusal = await this.#send(mail, accountId, before);
    if (refusal) {
      const { message, waitMs } = refusal;
      throw new ParleyError('rate_limit_exceeded', { message, retryAfterSeconds: Math.ceil(waitMs / 1000) });
    }
    return find();
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

  /** A code that surely does not arrive leaves the one before valid. */
  async #send(mail: MailSender, accountId: AccountId, before: WaitingAddress): Promise<Refusal | undefined> {
    const { store, clock } = this.#deps;
    const { address } = before;
    const sentAtMs = clock.now();
    // Another process may have sent it.
    const waitMs = (before.sentAtMs ?? 0) + pauseMs - sentAtMs;
    const refusal = waitMs > 0 ? tooSoon(waitMs) : this.#quota.take(accountId, address, sentAtMs);
    if (refusal) return refusal;
    const code = newCode();
    const sent = { codeHash: hashOf(code), sentAtMs, expiresAtMs: sentAtMs + dayMs };
    if (
      !(await store.alerts.setCode(accountId, before.codeHash, { address, ...sent, lastFailure: undefined }))
    ) {
      this.#quota.giveBack(address);
      return tooSoon(pauseMs);
    }
    const outcome = await mailCode(mail, accountId, address, code);
    if (outcome === 'accepted') return undefined;
    const { failure: lastFailure, mayHaveArrived = false } = outcome;
    if (!mayHaveArrived) this.#quota.giveBack(address);
    const valid = mayHaveArrived ? { address, ...sent } : before;
    await store.alerts.setCode(accountId, sent.codeHash, { ...valid, lastFailure });
    return undefined;
  }
}

function tooSoon(waitMs: number): Refusal {
  const message = 'A code was sent to this address within the last minute. Wait, then try again.';
  return { message, waitMs };
}

/** The codes that this process may still send, so that nobody floods the mailboxes of strangers through it. */
class CodeQuota {
  /** The times of the last day by account and by mailbox, of all accounts together; those with the latest time at the end. */
  readonly #times = new Map<string, readonly number[]>();

  /** Counts a code, if it may be sent. */
  take(accountId: AccountId, address: string, nowMs: number): Refusal | undefined {
    const mailbox = address.toLowerCase();
    const againAtMs = (this.#timesOf(mailbox, nowMs).at(-1) ?? 0) + pauseMs;
    if (againAtMs > nowMs) return tooSoon(againAtMs - nowMs);
    const owners = { address: mailbox, account: accountId } as const;
    for (const whose of ['address', 'account'] as const) {
      const [firstMs = nowMs, ...more] = this.#timesOf(owners[whose], nowMs);
      if (more.length + 1 < most[whose]) continue;
      const message = `The ${whose} has had ${most[whose]} codes within a day.`;
      return { message, waitMs: firstMs + dayMs - nowMs };
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
    return undefined;
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
