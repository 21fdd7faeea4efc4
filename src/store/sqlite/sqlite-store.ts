import type { Account } from '../../core/entities/account.ts';
import type { AuditEntry } from '../../core/entities/audit.ts';
import type { Count, CountedAmount } from '../../core/entities/count.ts';
import type { ClaimEnd, ClaimOutcome, IdempotencyClaim } from '../../core/entities/idempotency.ts';
import type { KeyHolder } from '../../core/entities/key.ts';
import type { EntryOutcome, LedgerEntry } from '../../core/entities/ledger.ts';
import type { NodeState } from '../../core/entities/node.ts';
import type { FairUseReservation, Reservation, ReserveOutcome } from '../../core/entities/reservation.ts';
import type { Store } from '../../core/entities/store.ts';
import type { RecordEnd, RecordStart } from '../../core/entities/usage.ts';
import type { AccountId, RequestId } from '../../core/values/ids.ts';
import { type NanoCredits, nanoCredits } from '../../core/values/money.ts';
import type { Month } from '../../core/values/month.ts';
import { ColdOperations } from '../cold-operations.ts';
import { balanceOf } from '../entities/accounts.ts';
import { claimKey, claimOutcome } from '../entities/idempotency.ts';
import type { Connection } from './database/connection.ts';
import { Reader } from './database/reader.ts';
import type { WriteHealth } from './database/write-health.ts';
import { Entries } from './entries.ts';
import { SqliteExecutor } from './executor.ts';
import { KeyCache } from './key-cache.ts';
import { Credits } from './requests/credits.ts';
import { Requests } from './requests/requests.ts';
import type { Writer } from './writer/writer.ts';

export interface SqliteStoreDeps {
  /** Only reads. The writer has a connection of its own. */
  readonly connection: Connection;
  readonly writer: Writer;
  readonly health: WriteHealth;
  /** Releases everything but the connection. */
  readonly close: () => Promise<void>;
}

/** Every operation of the store, on one SQLite database. */
export class SqliteStore extends ColdOperations implements Store {
  readonly #deps: SqliteStoreDeps;
  readonly #reader: Reader;
  readonly #keyCache: KeyCache;
  readonly #credits: Credits;
  readonly #entries: Entries;
  readonly #requests: Requests;

  constructor(deps: SqliteStoreDeps) {
    const { connection, writer, health } = deps;
    const reader = new Reader(connection);
    super(new SqliteExecutor({ reader, writer, path: connection.name }));
    this.#deps = deps;
    this.#reader = reader;
    this.#keyCache = new KeyCache(reader);
    this.#credits = new Credits((id) => reader.get(balanceOf, { id }) ?? 0n);
    this.#entries = new Entries({ reader, credits: this.#credits, writer });
    this.#requests = new Requests({ reader, writer, health, credits: this.#credits });
  }

  async findKey(hash: string): Promise<KeyHolder | undefined> {
    return this.#keyCache.find(hash);
  }

  reserve(record: RecordStart, reservation: Reservation): Promise<ReserveOutcome> {
    return this.#requests.reserve(record, reservation);
  }

  recordStarted(id: RequestId): Promise<void> {
    return this.#requests.recordStarted(id);
  }

  extend(id: RequestId, reservation: FairUseReservation): Promise<boolean> {
    return this.#requests.extend(id, reservation);
  }

  extendCounted(id: RequestId, counted: readonly CountedAmount[]): Promise<boolean> {
    return this.#requests.extendCounted(id, counted);
  }

  async listNodes(): Promise<readonly NodeState[]> {
    return [];
  }

  taken(counts: readonly Count[]): Promise<readonly bigint[]> {
    return this.#requests.taken(counts);
  }

  settle(id: RequestId, end: RecordEnd, claim?: ClaimEnd): Promise<RecordEnd> {
    return this.#requests.settle(id, end, claim);
  }

  record(start: RecordStart, end: RecordEnd, claim?: ClaimEnd): Promise<void> {
    return this.#requests.record(start, end, claim);
  }

  recover(nowMs: number): Promise<number> {
    return this.#requests.recover(nowMs);
  }

  fairUseUnits(accountId: AccountId, month: Month): Promise<number> {
    return this.#requests.fairUseUnits(accountId, month);
  }

  async claimAnswer(claim: IdempotencyClaim): Promise<ClaimOutcome> {
    return claimOutcome(claim, await this.#deps.writer.run({ steps: claimKey(claim) }));
  }

  async availableCredits(accountId: AccountId): Promise<NanoCredits> {
    const known = this.#credits.of(accountId);
    if (known) return nanoCredits(known.balance - known.held);
    return nanoCredits(this.#reader.get(balanceOf, { id: accountId }) ?? 0n);
  }

  enter(entry: LedgerEntry, audit: AuditEntry): Promise<EntryOutcome> {
    return this.#entries.enter(entry, audit);
  }

  async close(): Promise<void> {
    this.#requests.close();
    await this.#deps.close();
  }

  /**
   * The balance is that of the database, as records and entries are. It knows only the holds of started records; those in memory
   * include the hold of a debit until its write is acknowledged.
   */
  protected override withCredits(account: Account): Account {
    const { held = account.held } = this.#credits.of(account.id) ?? {};
    return held > account.balance ? { ...account, held: account.balance } : { ...account, held };
  }

  override policyChanged(): void {
    this.#keyCache.expire();
  }
}
