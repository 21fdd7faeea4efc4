import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEntry } from '../../core/entities/audit.ts';
import type { Count, CountedAmount } from '../../core/entities/count.ts';
import type { ClaimEnd, ClaimOutcome, IdempotencyClaim } from '../../core/entities/idempotency.ts';
import type { KeyHolder } from '../../core/entities/key.ts';
import type { EntryOutcome, LedgerEntry } from '../../core/entities/ledger.ts';
import type { NodeState } from '../../core/entities/node.ts';
import type { FairUseReservation, Reservation, ReserveOutcome } from '../../core/entities/reservation.ts';
import type { Store } from '../../core/entities/store.ts';
import type { PruneCut, Pruned, RecordEnd, RecordStart } from '../../core/entities/usage.ts';
import { ParleyError } from '../../core/values/errors.ts';
import type { AccountId, RequestId } from '../../core/values/ids.ts';
import { type NanoCredits, nanoCredits } from '../../core/values/money.ts';
import type { Month } from '../../core/values/month.ts';
import { ColdOperations } from '../cold-operations.ts';
import { accountById } from '../entities/accounts.ts';
import { claimKey, claimOutcome, endClaim } from '../entities/idempotency.ts';
import { LastUses } from '../entities/last-uses.ts';
import { Pruning } from '../entities/prune.ts';
import type { Executor } from '../sql/executor.ts';
import { takenUnits } from '../tables/fair-use.ts';
import { countsOfOwners } from '../tables/limit-counts.ts';
import type { Node } from './database/node.ts';
import { soon } from './database/patience.ts';
import type { Groups } from './groups/groups.ts';
import {
  entering,
  extending,
  extendingCounts,
  type OpenRequest,
  type Operation,
  recording,
  reserving,
  settling,
} from './groups/operations.ts';
import { KeyCache } from './key-cache.ts';
import { nodesInOrder } from './node-list.ts';
import type { Partitions } from './partitions.ts';
import { endRequestsOfDeadNodes } from './recovery.ts';

export interface PostgresStoreDeps {
  readonly executor: Executor;
  readonly groups: Groups;
  readonly node: Node;
  readonly partitions: Partitions;
  /** Releases the connections. */
  readonly close: () => Promise<void>;
}

interface RunningRequest extends Omit<OpenRequest, 'counted'> {
  readonly start: RecordStart;
  /** The last operation on it. The next one begins after it. */
  last: Promise<unknown>;
  counted: readonly CountedAmount[] | undefined;
  /** Whether it is reserved; until then nobody knows. */
  isReserved: boolean;
}

/** When to try again to free a key, if nobody knows whether it was claimed. */
const freeAgainMs = 1_000;

/** Every operation of the store, on a PostgreSQL database that other nodes may share. */
export class PostgresStore extends ColdOperations implements Store {
  readonly #deps: PostgresStoreDeps;
  readonly #keyCache: KeyCache;
  readonly #lastUses = new LastUses();
  readonly #open = new Map<RequestId, RunningRequest>();
  #isClosed = false;

  constructor(deps: PostgresStoreDeps) {
    super(deps.executor);
    this.#deps = deps;
    this.#keyCache = new KeyCache(deps.executor);
  }

  findKey(hash: string): Promise<KeyHolder | undefined> {
    return this.#keyCache.find(hash);
  }

  async reserve(start: RecordStart, reservation: Reservation): Promise<ReserveOutcome> {
    const { fairUse, hold, counted, rates } = reservation;
    const counter = fairUse && { accountId: start.accountId, month: fairUse.month };
    const outcome = this.#deps.groups.run(reserving(start, reservation));
    const holdsCredits = hold !== undefined;
    const reserved = { counter, holdsCredits, counted, rated: rates?.owners };
    const request = { start, ...reserved, last: outcome, isReserved: false };
    this.#open.set(start.id, request);
    // If it fails, the request stays open: nobody knows whether it was written, until its record is.
    const known = await outcome;
    request.isReserved = known === 'reserved';
    if (!request.isReserved) this.#open.delete(start.id);
    if (known === 'policy_changed') this.#keyCache.clear();
    return known;
  }

  async recordStarted(id: RequestId): Promise<void> {
    // The reservation has written it.
    this.#running(id);
  }

  extend(id: RequestId, fairUse: FairUseReservation): Promise<boolean> {
    const request = this.#running(id);
    return this.#follow(request, extending(request, fairUse));
  }

  async extendCounted(id: RequestId, counted: readonly CountedAmount[]): Promise<boolean> {
    const request = this.#running(id);
    const isExtended = await this.#follow(request, extendingCounts(request, counted));
    if (isExtended) request.counted = counted;
    return isExtended;
  }

  async listNodes(): Promise<readonly NodeState[]> {
    const { executor, node } = this.#deps;
    const nodes = await executor.all(nodesInOrder, {});
    return nodes.map(({ epoch, ...state }) => ({ ...state, isOwn: node.is(epoch) }));
  }

  async taken(counts: readonly Count[]): Promise<readonly bigint[]> {
    const owners = [...new Set(counts.map(({ owner }) => owner))];
    const periods = [...new Set(counts.map(({ period }) => period))];
    const rows = await this.#deps.executor.all(countsOfOwners, { owners, periods });
    const nameOf = ({ owner, unit, period }: Record<keyof Count, string>) => `${owner} ${unit} ${period}`;
    const taken = new Map(rows.map((row) => [nameOf(row), row.used + row.reserved]));
    return counts.map((count) => taken.get(nameOf(count)) ?? 0n);
  }

  async settle(id: RequestId, end: RecordEnd, claim?: ClaimEnd): Promise<RecordEnd> {
    const request = this.#running(id);
    const recorded = await this.#follow(request, this.#noting(request.start, settling(request, end, claim)));
    this.#open.delete(id);
    return recorded;
  }

  async record(start: RecordStart, end: RecordEnd, claim?: ClaimEnd): Promise<void> {
    const doubted = this.#open.get(start.id);
    const operation = this.#noting(start, recording(start, end, { claim, doubted }));
    if (doubted === undefined) return this.#deps.groups.run(operation);
    await this.#follow(doubted, operation);
    this.#open.delete(start.id);
  }

  /** Also joins the other nodes. It releases what those that die later leave, too. */
  async recover(nowMs: number): Promise<number> {
    await this.#deps.node.epoch();
    await this.#deps.partitions.keepAhead(nowMs);
    return endRequestsOfDeadNodes(this.#deps, nowMs);
  }

  async fairUseUnits(accountId: AccountId, month: Month): Promise<number> {
    return (await this.#deps.executor.get(takenUnits, { accountId, month })) ?? 0;
  }

  async claimAnswer(claim: IdempotencyClaim): Promise<ClaimOutcome> {
    const { node, executor } = this.#deps;
    const claiming = node
      .epoch()
      .then((nodeEpoch) => executor.run({ steps: claimKey({ ...claim, nodeEpoch }) }));
    try {
      return claimOutcome(claim, await soon(claiming));
    } catch (error) {
      // It may have been claimed after all, or may still be.
      void claiming.catch(() => undefined).then(() => this.#free(claim));
      throw error;
    }
  }

  async availableCredits(accountId: AccountId): Promise<NanoCredits> {
    const { balance = 0n, held = 0n } = (await this.#deps.executor.get(accountById, { id: accountId })) ?? {};
    return nanoCredits(balance - held);
  }

  /** Drops the partitions of whole months first. */
  override async prune(cut: PruneCut, recordsMax: number, audit: AuditEntry): Promise<Pruned> {
    const { partitions, executor } = this.#deps;
    const dropped = await partitions.drop(cut.recordsBeforeMs, recordsMax, audit);
    const entry = dropped === 0 ? audit : undefined;
    const { records, ...pruned } = await new Pruning(executor).prune(cut, recordsMax - dropped, entry);
    return { ...pruned, records: records + dropped };
  }

  enter(entry: LedgerEntry, audit: AuditEntry): Promise<EntryOutcome> {
    return this.#deps.groups.run(entering(entry, audit));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#deps.groups.close();
    await this.#deps.node.close(this.#open.size === 0);
    await this.#deps.close();
  }

  override policyChanged(): void {
    this.#keyCache.clear();
  }

  async #free(claim: IdempotencyClaim): Promise<void> {
    while (!this.#isClosed) {
      await sleep(freeAgainMs, undefined, { ref: false });
      try {
        await this.#deps.executor.run({ steps: [endClaim({ claim, answer: undefined })] });
        return;
      } catch {
        // The database is still away.
      }
    }
  }

  /** Notes the last use of the key with the operation, once a minute. */
  #noting<Value>(
    start: Pick<RecordStart, 'keyId' | 'startedAtMs'>,
    operation: Operation<Value>,
  ): Operation<Value> {
    const use = this.#lastUses.note(start.keyId, start.startedAtMs);
    if (use.length === 0) return operation;
    return {
      ...operation,
      decide(books, epoch) {
        books.steps.push(...use);
        return operation.decide(books, epoch);
      },
    };
  }

  /** Runs an operation after the last one on the request. */
  #follow<Value>(request: RunningRequest, operation: Operation<Value>): Promise<Value> {
    const next = request.last.catch(() => undefined).then(() => this.#deps.groups.run(operation));
    request.last = next;
    return next;
  }

  #running(id: RequestId): RunningRequest {
    const request = this.#open.get(id);
    if (request?.isReserved) return request;
    throw new ParleyError('internal_error', { cause: new Error(`request ${id} is not running`) });
  }
}
