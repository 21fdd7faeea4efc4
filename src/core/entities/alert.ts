import type { AccountId, AlertId } from '../values/ids.ts';
import type { NanoCredits } from '../values/money.ts';
import type { Page, PageRequest } from '../values/parameters.ts';
import type { Account } from './account.ts';
import type { AuditEntry } from './audit.ts';
import type { Key } from './key.ts';

export type Destination =
  /** Addresses that are confirmed. */
  | { readonly kind: 'mail'; readonly addresses: readonly string[] }
  | {
      readonly kind: 'webhook' | 'slack' | 'matrix';
      /** Of Slack only the origin, as its path is a secret; of Matrix that of the homeserver. */
      readonly url: string;
      readonly roomId?: string;
    };

export interface AlertSettings {
  /** Undefined if alerts are only listed and logged. */
  readonly destination: Destination | undefined;
  /** In rising order. */
  readonly percents: readonly number[];
  readonly balanceBelow: NanoCredits | undefined;
}

export interface NewAlertSettings extends AlertSettings {
  /**
   * Sealed by `SecretSeal`: the signing secret of a webhook, the URL of Slack, or the access token of Matrix. Undefined
   * without any.
   */
  readonly sealedSecret: string | undefined;
}

export interface StoredAlertSettings extends NewAlertSettings {
  /** When sending stopped, because the destination answered 410. */
  readonly offAtMs: number | undefined;
  /** In the order of their addresses. */
  readonly waiting: readonly WaitingAddress[];
}

export type AlertKind =
  | 'budget.used'
  | 'fair_use.used'
  | 'credits.low'
  | `${'trial' | 'plan'}.${'ending' | 'ended'}`
  | 'test';

export interface AlertDetails {
  readonly keyId?: string;
  readonly percent?: number;
  readonly limitName?: string;
  readonly used?: string;
  readonly limit?: string;
  readonly resetsAtMs?: number;
  readonly balance?: string;
  readonly balanceBelow?: string;
  readonly endsAtMs?: number;
}

/** `none`: there was no destination. `failed`: given up. */
export type DeliveryState = 'none' | 'pending' | 'delivered' | 'failed';

export interface Alert {
  readonly id: AlertId;
  readonly accountId: AccountId;
  readonly kind: AlertKind;
  readonly createdAtMs: number;
  readonly details: AlertDetails;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** Set while the alert is pending. An attempt advances it when it begins. */
  readonly nextAttemptAtMs: number | undefined;
  readonly deliveredAtMs: number | undefined;
  readonly lastFailure: string | undefined;
}

/** The progress of a watched amount. An alert is raised when its mark advances, so only once. */
export interface AlertMark {
  readonly kind: AlertKind;
  /** Distinguishes watched amounts of one kind, such as budgets. */
  readonly subject: string;
  /** Sorts by time. Only a later period starts over. */
  readonly period: string;
  /** The limit, amount or end to which the threshold belongs. Another basis starts over. Empty for fair use. */
  readonly basis: string;
  /** Within a period and basis only a higher threshold advances the mark. */
  readonly threshold: number;
}

export interface WatchMoment {
  /** The time that decides about days and months. */
  readonly nowMs: number;
  /** The time by which keys and subscriptions end. */
  readonly accessNowMs: number;
}

/** An account with alert settings, and everything that they watch. Amounts are those of ended requests. */
export interface WatchedAccount {
  readonly account: Account;
  readonly settings: AlertSettings;
  /** Units of fair use in the month. */
  readonly unitsUsed: bigint;
  /** Id of the latest ledger entry that added credits; empty if none did. */
  readonly latestLoad: string;
  /** Keys with limits that are neither revoked nor expired, in order of creation. */
  readonly keys: readonly Pick<Key, 'id' | 'originId' | 'limits'>[];
  /** Nano-credits that the account, or a key by the id of its origin, has used in a day, month or in total. */
  readonly usedCredits: (owner: string, period: string) => bigint;
  readonly marks: readonly AlertMark[];
}

export interface DueAlert {
  readonly alert: Alert;
  readonly accountName: string;
  readonly destination: Destination;
  readonly sealedSecret: string | undefined;
}

export type AttemptEnd =
  | { readonly state: 'delivered'; readonly atMs: number }
  | {
      readonly state: 'pending' | 'failed';
      readonly failure: string;
      /** Earliest time of the next attempt for any alert of the account. */
      readonly nextAtMs: number;
    };

/** An address of mail that gets no alerts before it is confirmed. */
export interface WaitingAddress {
  readonly address: string;
  /** The hash of its latest code. Undefined if none was sent, as are the times of the code. */
  readonly codeHash: string | undefined;
  readonly sentAtMs: number | undefined;
  readonly expiresAtMs: number | undefined;
  /** A sentence: why the last code was not sent, or may not have arrived. */
  readonly lastFailure: string | undefined;
}

export interface AlertStore {
  settings(accountId: AccountId): Promise<StoredAlertSettings | undefined>;
  /**
   * Replaces the settings. Without a destination, pending alerts are given up.
   * @param waiting all addresses that wait for a confirmation from then on
   * @param before the settings on which the caller decided; undefined if there were none
   * @returns false if the destination or the secret is another than in `before`, as after a confirmation
   */
  setSettings(
    accountId: AccountId,
    settings: NewAlertSettings | undefined,
    audit: AuditEntry,
    waiting: readonly string[],
    before: NewAlertSettings | undefined,
  ): Promise<boolean>;
  /** Sets the code and the failure of an address. False if the address does not wait, or another code is its latest. */
  setCode(accountId: AccountId, latestHash: string | undefined, by: WaitingAddress): Promise<boolean>;
  /** From then on the address gets alerts, also those that are pending. False if the code was used meanwhile. */
  confirm(accountId: AccountId, address: string, codeHash: string, audit: AuditEntry): Promise<boolean>;
  /** Accounts that are neither suspended nor deleted, in the order of their ids. */
  watched(moment: WatchMoment, page: PageRequest): Promise<readonly WatchedAccount[]>;
  /**
   * Adds an alert if its mark advances, and keeps the latest `alertsKept`. It is pending only if the account has a
   * destination. False if another node was first.
   * @param read the mark on which the caller decided; within its period no other is replaced. Default: none
   */
  raise(alert: Alert, mark: AlertMark, read?: AlertMark): Promise<boolean>;
  /** Newest first. */
  list(accountId: AccountId, page: PageRequest): Promise<Page<Alert, AlertId>>;
  /** Pending alerts whose next attempt is due, at most one per account, in the order in which they became due. */
  due(nowMs: number, size: number): Promise<readonly DueAlert[]>;
  /** Counts an attempt and moves the next one on. False if another node was first. */
  claim(alert: Alert, nextAttemptAtMs: number): Promise<boolean>;
  endAttempt(alert: Alert, end: AttemptEnd): Promise<void>;
  /** Gives up all pending alerts of the account, and sends none until its settings are set again. */
  turnOff(due: DueAlert, atMs: number, failure: string): Promise<void>;
}

export const alertsKept = 1_000;

/** A request to an address that a customer chose. */
export interface WebhookRequest {
  readonly method: 'POST' | 'PUT';
  readonly url: string;
  readonly receiver: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The status of the answer, or a sentence that says why there is none. */
export type WebhookOutcome =
  | {
      readonly status: number;
      /** The wait that the receiver asked for. Absent unless it did. */
      readonly retryAfterMs?: number;
    }
  | { readonly failure: string };

export interface WebhookSender {
  /**
   * Takes at most 10 seconds and does not reject. Redirects are not followed. Of the answer's body, at most 4 KiB are
   * read, of the status 429.
   * @param signal ends the attempt early. Default: none
   */
  send(request: WebhookRequest, signal?: AbortSignal): Promise<WebhookOutcome>;
}

export interface AlertObserver {
  raised(kind: string): void;
  /** @param outcome of one attempt; after the last one, `given_up` */
  attempted(outcome: 'delivered' | 'failed' | 'given_up'): void;
}
