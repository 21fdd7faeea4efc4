/** Confirmations of the addresses that alerts are mailed to. Each address gets a code by mail, and no alert before the code is entered. */
import { hash, randomBytes, randomUUID } from 'node:crypto';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { AlertStore, StoredAlertSettings, WaitingAddress } from '../entities/alert.ts';
import type { AuditEntry } from '../entities/audit.ts';
import type { MailSender } from '../entities/mail.ts';
import type { Clock } from '../values/clock.ts';
import { ParleyError } from '../values/errors.ts';
import type { AccountId } from '../values/ids.ts';
import { invalid } from '../values/parameters.ts';
import { hostsOf } from './destinations.ts';

/** Without letters that look like others. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** 60 bits. */
const codeDigits = 12;
const codeMs = 86_400_000;
/** Pause between two codes for the same address. */
const againMs = 60_000;
/** Per account and process, so that nobody floods the mailboxes of strangers. */
const codesPerDay = 20;

export interface ConfirmationsDeps {
  readonly store: { readonly alerts: AlertStore };
  readonly clock: Clock;
  /** Undefined if nothing is mailed from here. */
  readonly mail: MailSender | undefined;
}

export class Confirmations {
  readonly #deps: ConfirmationsDeps;
  readonly #rate = new RateLimiterMemory({ points: codesPerDay, duration: 86_400 });

  constructor(deps: ConfirmationsDeps) {
    this.#deps = deps;
  }

  /** Sends first codes. A failure is in the state of its address. */
  async sendFirst(accountId: AccountId, addresses: readonly string[]): Promise<void> {
    if (this.#deps.mail === undefined) return;
    await Promise.all(addresses.map((address) => this.#send(accountId, address)));
  }

  /** Sends another code, which replaces the one before. @throws `invalid_parameter`, `rate_limit_exceeded` */
  async sendAgain(accountId: AccountId, address: string): Promise<WaitingAddress | undefined> {
    const { store, mail } = this.#deps;
    const find = async () =>
      (await store.alerts.waiting(accountId)).find((waiting) => waiting.address === address);
    if ((await find()) === undefined) {
      throw invalid('address', 'This address does not wait for a confirmation.');
    }
    if (mail === undefined) {
      throw new ParleyError('engine_unavailable', { message: 'No server that sends mail runs here.' });
    }
    if (!(await this.#send(accountId, address))) {
      const message = 'A code was sent to this address within the last minute. Wait, then try again.';
      throw new ParleyError('rate_limit_exceeded', { message, retryAfterSeconds: againMs / 1000 });
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
    const address = await store.alerts.addressOfCode(accountId, codeHash, clock.now());
    const entry = address && auditOf({ mail: hostsOf({ kind: 'mail', addresses: [address] }) });
    if (address && entry && (await store.alerts.confirm(accountId, address, codeHash, entry))) return address;
    throw invalid('code', 'This code is not valid. It may have expired, or a newer one was sent.');
  }

  /** False if a code was sent a short time ago. */
  async #send(accountId: AccountId, address: string): Promise<boolean> {
    const { store, clock, mail } = this.#deps;
    const code = newCode();
    const sentAtMs = clock.now();
    const times = { sentAtMs, expiresAtMs: sentAtMs + codeMs, againAfterMs: sentAtMs - againMs };
    if (!(await store.alerts.setCode(accountId, address, { codeHash: hashOf(code), ...times }))) return false;
    const failure = (await this.#refusal(accountId)) ?? (await mailCode(mail, accountId, address, code));
    if (failure !== undefined) await store.alerts.forgetCode(accountId, address, failure);
    return true;
  }

  async #refusal(accountId: AccountId): Promise<string | undefined> {
    try {
      await this.#rate.consume(accountId);
      return undefined;
    } catch (reason) {
      if (!(reason instanceof RateLimiterRes)) throw reason;
      return `The account has had ${codesPerDay} codes within a day.`;
    }
  }
}

/** Divides the addresses that a caller wants into those that are confirmed already and those that wait. */
export function divided(addresses: readonly string[], before: StoredAlertSettings | undefined) {
  const known = before?.destination?.kind === 'mail' ? before.destination.addresses : [];
  return {
    confirmed: addresses.filter((address) => known.includes(address)),
    waiting: addresses.filter((address) => !known.includes(address)),
  };
}

export function describeWaiting({ address, sentAtMs, expiresAtMs, lastFailure }: WaitingAddress) {
  return {
    address,
    ...(sentAtMs !== undefined && { sentAt: timestampFromMs(sentAtMs) }),
    ...(expiresAtMs !== undefined && { expiresAt: timestampFromMs(expiresAtMs) }),
    ...(lastFailure !== undefined && { lastFailure }),
  };
}

function newCode(): string {
  return Array.from(randomBytes(codeDigits), (byte) => alphabet[byte % alphabet.length]).join('');
}

function hashOf(code: string): string {
  return hash('sha256', code, 'hex');
}

/** Without any words of the account, as these could be for strangers. */
async function mailCode(
  mail: MailSender | undefined,
  accountId: AccountId,
  address: string,
  code: string,
): Promise<string | undefined> {
  const text = `Somebody wants alerts of a Parley account to be mailed to this address. If you agree, enter this
code where the alerts are set, or give it to the person who asked you:

    ${code.replace(/.{4}(?=.)/g, '$&-')}

It is valid for 24 hours. If you do not expect this mail, do nothing: no alerts will be sent to you.

Account: ${accountId}
`;
  const subject = 'Confirm this address for alerts of Parley';
  const outcome = await mail?.send({ accountId, to: [address], subject, text, id: randomUUID() });
  return typeof outcome === 'object' ? outcome.failure : undefined;
}
