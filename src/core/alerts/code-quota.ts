/** The codes that this process may still send, so that nobody floods the mailboxes of strangers through it. */
import type { Clock } from '../values/clock.ts';
import type { AccountId } from '../values/ids.ts';

const dayMs = 86_400_000;
/** Pause between two codes for an address. */
export const pauseMs = 60_000;
const perAccount = 20;
const perAddress = 5;

export interface QuotaRefusal {
  readonly message: string;
  readonly waitMs: number;
}

export function tooSoon(waitMs: number): QuotaRefusal {
  const message = 'A code was sent to this address within the last minute. Wait, then try again.';
  return { message, waitMs };
}

export class CodeQuota {
  readonly #clock: Clock;
  readonly #accounts = new TimesOfDay();
  /** Of all accounts together. */
  readonly #addresses = new TimesOfDay();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a code, if it may be sent. */
  take(accountId: AccountId, address: string): QuotaRefusal | undefined {
    const nowMs = this.#clock.now();
    const ofAccount = this.#accounts.of(accountId, nowMs);
    const ofAddress = this.#addresses.of(mailboxOf(address), nowMs);
    const againAtMs = (ofAddress.at(-1) ?? 0) + pauseMs;
    if (againAtMs > nowMs) return tooSoon(againAtMs - nowMs);
    const refusal =
      refusalOf('address', ofAddress, perAddress, nowMs) ??
      refusalOf('account', ofAccount, perAccount, nowMs);
    if (refusal) return refusal;
    this.#accounts.add(accountId, nowMs);
    this.#addresses.add(mailboxOf(address), nowMs);
    return undefined;
  }

  /** The address did not get its latest code. The account has tried nevertheless. */
  giveBack(address: string): void {
    this.#addresses.removeLatest(mailboxOf(address));
  }
}

function mailboxOf(address: string): string {
  return address.toLowerCase();
}

function refusalOf(
  whose: 'account' | 'address',
  times: readonly number[],
  max: number,
  nowMs: number,
): QuotaRefusal | undefined {
  if (times.length < max) return undefined;
  const message = `The ${whose} has had ${max} codes within a day.`;
  return { message, waitMs: (times[0] ?? nowMs) + dayMs - nowMs };
}

/** The times of the last day by names, the oldest first. */
class TimesOfDay {
  /** In the order of the latest times. */
  readonly #times = new Map<string, readonly number[]>();

  of(name: string, nowMs: number): readonly number[] {
    return (this.#times.get(name) ?? []).filter((timeMs) => timeMs > nowMs - dayMs);
  }

  add(name: string, nowMs: number): void {
    const times = [...this.of(name, nowMs), nowMs];
    this.#times.delete(name);
    this.#times.set(name, times);
    for (const old of this.#times.keys()) {
      if (this.of(old, nowMs).length > 0) break;
      this.#times.delete(old);
    }
  }

  removeLatest(name: string): void {
    this.#times.set(name, this.#times.get(name)?.slice(0, -1) ?? []);
  }
}
