import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Funds } from '../../../core/books/books.ts';
import type { AccountId } from '../../../core/values/ids.ts';
import { plainArray } from '../database/arrays.ts';
import type { Health } from '../database/health.ts';
import { toUuid } from '../database/ids.ts';
import type { Node } from '../database/node.ts';
import { retryMs, waitMsMax, watchMs } from '../database/patience.ts';
import {
  isLocked,
  isRepeatable,
  isStorageFailure,
  isWrittenRecord,
  UnknownOutcomeError,
  unusable,
} from '../database/storage-failures.ts';
import {
  beginGuarded,
  failUnless,
  hasFailedCheck,
  type Transaction,
  transact,
} from '../database/transaction.ts';
import { KnownFunds } from './known-funds.ts';
import { FencedError, fence, ReadSet, readSet, type Wanted } from './read-set.ts';
import { WriteSet } from './write-set.ts';

/** Concurrent groups, each on its own connection. */
const groupsMax = 2;
const operationsMax = 500;
/** How long an operation is repeated that may have taken effect, or whose rows other programs lock. */
const doubtMsMax = 30_000;
/** How long a group may take on a connection before that counts as lost. */
const groupMsMax = 5_000;
/** Attempts of a group with deadlocks. Then its operations run alone, each until it succeeds or is late. */
const attemptsMax = 5;

export interface Operation<Outcome> extends Wanted {
  /** Whether a client waits to be admitted. */
  readonly isAdmission?: boolean;
  /** Decides on the rows, and changes nothing if it refuses. @param epoch of this node */
  decide(rows: ReadSet, writes: WriteSet, epoch: bigint): Outcome;
}

interface Pending {
  /** Whether its caller has received the error that the database is unreachable. */
  isLate: boolean;
  readonly operation: Operation<unknown>;
  /** Time in which the event loop was blocked does not count, as answers of the database waited unread. */
  waitedMs: number;
  readonly resolve: (outcome: never) => void;
  readonly reject: (error: unknown) => void;
}

interface GroupsDeps {
  readonly pool: Pool;
  readonly node: Node;
  readonly health: Health;
}

/** Operations that must be written one by one. */
interface Unwritten {
  readonly group: readonly Pending[];
  readonly isDoubted: boolean;
  /** The error of their group. */
  readonly error: unknown;
}

type Outcome = { readonly value: unknown } | { readonly error: unknown };

/**
 * Concurrent requests share transactions. Each takes two round trips to the database: the first locks and reads, then every operation
 * decides here, and the second writes and commits. One round trip is enough where all rows are known: the database locks and compares them.
 */
export class Groups {
  readonly #deps: GroupsDeps;
  #waiting: Pending[] = [];
  /** Accounts of the running groups. */
  readonly #locked = new Set<AccountId>();
  readonly #running = new Set<readonly Pending[]>();
  readonly #funds = new KnownFunds();
  #runners = 0;
  #watcher: NodeJS.Timeout | undefined;
  #isDue = false;

  constructor(deps: GroupsDeps) {
    this.#deps = deps;
  }

  /** Durable when it resolves. @throws `overloaded` if the database cannot be used for two seconds, or the error of the operation */
  run<Value>(operation: Operation<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ operation, waitedMs: 0, isLate: false, resolve, reject });
      this.#watcher ??= setInterval(() => this.#watch(), watchMs).unref();
      this.#startRunner();
    });
  }

  /** Resolves when no operation waits. */
  async close(): Promise<void> {
    while (this.#running.size > 0 || this.#waiting.length > 0) await sleep(1);
    clearInterval(this.#watcher);
  }

  /** Nobody waits for admission for longer than two seconds, even if a connection does not answer. Later effects are undone. */
  #watch(): void {
    for (const pending of [...this.#running].flat().concat(this.#waiting)) {
      pending.waitedMs += watchMs;
      const isOverdue = pending.operation.isAdmission === true && pending.waitedMs >= waitMsMax;
      if (!isOverdue || pending.isLate) continue;
      pending.isLate = true;
      pending.reject(unusable(new Error('the database does not answer')));
    }
    this.#waiting = this.#waiting.filter(({ isLate }) => !isLate);
    if (this.#running.size > 0 || this.#waiting.length > 0) return;
    clearInterval(this.#watcher);
    this.#watcher = undefined;
  }

  /** Runs at the end of this turn, so that all its requests share the group. */
  #startRunner(): void {
    if (this.#isDue || this.#runners >= groupsMax) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      void this.#runGroups();
    });
  }

  async #runGroups(): Promise<void> {
    this.#runners++;
    for (let group = this.#take(); group.length > 0; group = this.#take()) {
      const accounts = new Set(group.flatMap(({ operation }) => operation.accountId ?? []));
      for (const id of accounts) this.#locked.add(id);
      this.#running.add(group);
      if (group.length === operationsMax) this.#startRunner();
      const unwritten = await this.#write(group, false);
      const kept = new Set(unwritten?.group.map(({ operation }) => operation.accountId));
      for (const id of accounts) if (!kept.has(id)) this.#locked.delete(id);
      if (unwritten) void this.#writeApart(unwritten).then(() => this.#running.delete(group));
      else this.#running.delete(group);
      // Operations that follow from these share the next group.
      await nextTurn();
    }
    this.#runners--;
  }

  /** Takes operations on accounts that no other group has locked: two groups of this node never wait for each other. */
  #take(): Pending[] {
    const group: Pending[] = [];
    this.#waiting = this.#waiting.filter((pending) => {
      const { accountId } = pending.operation;
      const isFree = accountId === undefined || !this.#locked.has(accountId);
      if (!isFree || group.length >= operationsMax) return true;
      group.push(pending);
      return false;
    });
    return group;
  }

  /** Writes a group. Each of its operations resolves or rejects, except those that it returns. A group of one returns none. */
  async #write(group: readonly Pending[], wasDoubted: boolean): Promise<Unwritten | undefined> {
    let left = group;
    let isDoubted = wasDoubted;
    let mayAssume = true;
    for (let attempt = 1; left.length > 0; attempt++) {
      try {
        this.#end(left, await this.#attempt(left, { isRepeated: isDoubted, mayAssume }));
        return undefined;
      } catch (error) {
        isDoubted ||= error instanceof UnknownOutcomeError || isWrittenRecord(error);
        if (isStorageFailure(error)) {
          if (attempt > 1) this.#deps.health.failed(error);
          left = rejectLate(left, isDoubted ? doubtMsMax : waitMsMax, error);
          await sleep(retryMs);
        } else if (isWrittenRecord(error)) {
          // An earlier attempt has committed after the records were read, or by another operation. The next attempt finds it.
          left = rejectLate(left, doubtMsMax, error);
          await sleep(retryMs);
        } else if (error instanceof FencedError) this.#deps.node.lose(error.epoch);
        else if (hasFailedCheck(error) && (mayAssume || attempt < attemptsMax)) mayAssume = false;
        else if (isRepeatable(error) && (left.length === 1 || (attempt < attemptsMax && !isLocked(error)))) {
          left = rejectLate(left, doubtMsMax, error);
        } else if (left.length > 1) return { group: left, isDoubted, error };
        else return void left[0]?.reject(error);
      }
    }
    return undefined;
  }

  /** Runs the operations one by one, so that only the one with the error fails. Accounts do not wait for each other. */
  async #writeApart({ group, isDoubted, error }: Unwritten): Promise<void> {
    const parts = Map.groupBy(group, ({ operation }) => operation.accountId);
    const writePart = async ([accountId, part]: readonly [AccountId | undefined, readonly Pending[]]) => {
      for (const one of part) await this.#write(rejectLate([one], doubtMsMax, error), isDoubted);
      if (accountId !== undefined) this.#locked.delete(accountId);
      this.#startRunner();
    };
    await Promise.all([...parts].map(writePart));
  }

  /**
   * @param isRepeated whether an earlier attempt may have been committed
   * @param mayAssume whether known rows need not be read
   */
  async #attempt(
    group: readonly Pending[],
    { isRepeated, mayAssume }: { readonly isRepeated: boolean; readonly mayAssume: boolean },
  ): Promise<Outcome[]> {
    const { pool, node } = this.#deps;
    const operations = group.map(({ operation }) => operation);
    const needsNode = operations.some(({ recordId }) => recordId !== undefined);
    const epoch = needsNode ? await node.epoch() : undefined;
    const accounts = new Set(operations.flatMap(({ accountId }) => accountId ?? []));
    const isSure = mayAssume && !isRepeated && operations.every(isKnown);
    const known = isSure ? this.#funds.of(accounts) : undefined;
    const write = async (transaction: Transaction) => {
      const rows =
        known && epoch !== undefined
          ? assumedSet(transaction, operations, { epoch, funds: known })
          : await readSet(transaction, operations, { epoch, isRepeated });
      const writes = new WriteSet();
      const outcomes = operations.map((operation) =>
        outcomeOf(() => operation.decide(rows, writes, epoch ?? 0n)),
      );
      writes.write(transaction, rows);
      return { outcomes, rows };
    };
    try {
      const { outcomes, rows } = await transact(pool, write, { begin: beginGuarded, msMax: groupMsMax });
      this.#funds.note(rows.fundsRows);
      return outcomes;
    } catch (error) {
      this.#funds.forget(accounts);
      throw error;
    }
  }

  #end(group: readonly Pending[], outcomes: readonly Outcome[]): void {
    this.#deps.health.succeeded();
    for (const [n, { resolve, reject }] of group.entries()) {
      const outcome = outcomes[n];
      if (outcome && 'value' in outcome) resolve(outcome.value as never);
      else reject(outcome?.error);
    }
  }
}

function outcomeOf(decide: () => unknown): Outcome {
  try {
    return { value: decide() };
  } catch (error) {
    return { error };
  }
}

/** Rejects the operations that have waited for too long, and returns those that somebody still waits for. */
function rejectLate(group: readonly Pending[], msMax: number, cause: unknown): Pending[] {
  return group.filter(({ waitedMs, isLate, reject }) => {
    if (waitedMs < msMax) return !isLate;
    reject(unusable(cause));
    return false;
  });
}

/** The next statements replace the first round trip of a group: they let the database check rows that this node knows. */
const checkFence = `select ${failUnless('count(*) = 1')} from (${fence}) as fence`;
/** Checks the fence, locks accounts as `lock_accounts` does, and checks that they are as known. */
const lockKnown = `
  select ${failUnless(`(select count(*) from (${fence}) as fence) = 1 and count(*) = cardinality($2::uuid[])`)} from (
    select 1 from unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[]) as known (id, balance, held, version)
    join accounts on accounts.id = known.id and balance_nano_credits = balance and held_nano_credits = held
      and policy_version = version
    order by accounts.id for no key update of accounts) as locked`;

/** Whether all rows of an operation, except the account, are known. */
function isKnown({ counted, rated, entry, hasRecord, reserved }: Wanted): boolean {
  const isPlain = !counted?.length && !rated?.length && entry === undefined;
  return isPlain && (hasRecord !== true || reserved !== undefined);
}

/**
 * The rows for the decisions of operations, with known funds. The database locks their rows, and the transaction fails if they are no
 * longer right, or if this node was marked dead.
 */
function assumedSet(
  transaction: Transaction,
  wanted: readonly Wanted[],
  { epoch, funds }: { readonly epoch: bigint; readonly funds: ReadonlyMap<AccountId, Readonly<Funds>> },
): ReadSet {
  if (funds.size === 0) transaction.query({ name: 'check_fence', text: checkFence, values: [epoch] });
  else {
    const columns = [...funds.values()];
    const values = [
      epoch,
      plainArray([...funds.keys()].map(toUuid)),
      plainArray(columns.map(({ balance }) => balance)),
      plainArray(columns.map(({ held }) => held)),
      plainArray(columns.map(({ policyVersion = null }) => policyVersion)),
    ];
    transaction.query({ name: 'lock_known', text: lockKnown, values });
  }
  const rows = new ReadSet();
  rows.assume(funds, wanted);
  return rows;
}
