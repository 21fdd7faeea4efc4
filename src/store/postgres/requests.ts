import type { Count, CountedAmount } from '../../core/entities/count.ts';
import type { ClaimEnd } from '../../core/entities/idempotency.ts';
import type {
  FairUseReservation,
  Reservation,
  ReservationStore,
  ReserveOutcome,
} from '../../core/entities/reservation.ts';
import type { RecordEnd, RecordStart } from '../../core/entities/usage.ts';
import { ParleyError } from '../../core/values/errors.ts';
import type { AccountId, RequestId } from '../../core/values/ids.ts';
import type { Month } from '../../core/values/month.ts';
import { LastUses } from '../entities/last-uses.ts';
import type { Executor } from '../sql/executor.ts';
import { takenUnits } from '../tables/fair-use.ts';
import { countsOfOwners } from '../tables/limit-counts.ts';
import type { Node } from './database/node.ts';
import type { Groups } from './groups/groups.ts';
import {
  extending,
  extendingCounts,
  type OpenRequest,
  type Operation,
  recording,
  reserving,
  settling,
} from './groups/operations.ts';
import type { Partitions } from './partitions.ts';
import { endRequestsOfDeadNodes } from './recovery.ts';

interface RequestsDeps {
  readonly executor: Executor;
  readonly groups: Groups;
  readonly node: Node;
  readonly partitions: Partitions;
  /** Called when a key holder was outdated. */
  readonly policyChanged: () => void;
}

interface RunningRequest extends Omit<OpenRequest, 'counted'> {
  readonly start: RecordStart;
  /** The last operation on it. The next one begins after it. */
  last: Promise<unknown>;
  counted: readonly CountedAmount[] | undefined;
  /** Whether it is reserved; until then nobody knows. */
  isReserved: boolean;
}

/** Running requests of this node. */
export class Requests implements ReservationStore {
  readonly #deps: RequestsDeps;
  readonly #lastUses = new LastUses();
  readonly #open = new Map<RequestId, RunningRequest>();

  constructor(deps: RequestsDeps) {
    this.#deps = deps;
  }

  /** Whether none is left. */
  get isIdle(): boolean {
    return this.#open.size === 0;
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
    if (known === 'policy_changed') this.#deps.policyChanged();
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
