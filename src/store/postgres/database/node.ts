import { hostname } from 'node:os';
import type { Pool } from 'pg';
import type { Health } from './health.ts';

const joining = `insert into nodes (name, version, lease_until)
  values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond') returning epoch`;
const renewing = `update nodes set lease_until = clock_timestamp() + $2 * interval '1 millisecond'
  where epoch = $1 and not dead`;
const leaving = 'delete from nodes where epoch = $1';
/** Others release the requests of this node at once. */
const dying = 'update nodes set dead = true where epoch = $1';
/** In the middle of a transaction a node holds its row, which is then skipped. */
const markingDead = `update nodes set dead = true where epoch in
  (select epoch from nodes where not dead and lease_until < clock_timestamp() and epoch <> $1 for update skip locked)`;

/** Heartbeats per lease. */
const beatsPerLease = 3;

interface NodeDeps {
  readonly pool: Pool;
  readonly health: Health;
  readonly version: string;
  /** How long the node counts as alive without a heartbeat. */
  readonly leaseMs: number;
  /** Called after each heartbeat, after a full lease, when this node may mark others dead. */
  readonly onDue: () => Promise<void>;
}

/**
 * This process as a node: a row with a lease in the database. While the row is not marked dead, only this process ends
 * the requests that it began. The clock of the database decides.
 */
export class Node {
  readonly #deps: NodeDeps;
  #joined: Promise<bigint> | undefined;
  #current: bigint | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Heartbeats since the last failed one. */
  #beats = 0;
  #isClosed = false;
  #working: Promise<void> | undefined;

  constructor(deps: NodeDeps) {
    this.#deps = deps;
  }

  /** The number of this node. The first call registers it. */
  epoch(): Promise<bigint> {
    this.#joined ??= this.#join();
    return this.#joined;
  }

  /** Whether this is the number of this process now. */
  is(epoch: bigint): boolean {
    return epoch === this.#current;
  }

  /** Drops a number that was marked dead, as its requests were released. The next call of `epoch` registers another. */
  lose(epoch: bigint): void {
    if (epoch !== this.#current) return;
    this.#joined = undefined;
    this.#current = undefined;
  }

  /** @param isIdle whether no request is left; others release remaining ones */
  async close(isIdle: boolean): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#working;
    const epoch = await this.#joined?.catch(() => undefined);
    if (epoch === undefined) return;
    // If this fails, the lease expires.
    await this.#deps.pool.query(isIdle ? leaving : dying, [epoch]).catch(() => undefined);
  }

  async #join(): Promise<bigint> {
    const { pool, version, leaseMs } = this.#deps;
    try {
      const { rows } = await pool.query(joining, [`${hostname()}:${process.pid}`, version, leaseMs]);
      this.#beats = 0;
      this.#current = rows[0].epoch;
      this.#schedule();
      return rows[0].epoch;
    } catch (error) {
      this.#joined = undefined;
      throw error;
    }
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#beat(), this.#deps.leaseMs / beatsPerLease).unref();
  }

  /** Runs beside the heartbeats, as work for longer than the lease must not end it. After a failure a later beat tries again. */
  #work(): void {
    this.#working ??= this.#deps
      .onDue()
      .catch(() => undefined)
      .finally(() => {
        this.#working = undefined;
      });
  }

  async #beat(): Promise<void> {
    const { pool, health, leaseMs } = this.#deps;
    try {
      const epoch = await this.epoch();
      const query = { text: renewing, values: [epoch, leaseMs], query_timeout: leaseMs };
      const { rowCount } = await pool.query(query);
      health.succeeded();
      if (rowCount === 0) this.lose(epoch);
      // All leases expire while the database is unreachable, so a node is marked dead only after it had time to renew
      // its own.
      else if (++this.#beats > beatsPerLease) {
        await pool.query(markingDead, [epoch]);
        this.#work();
      }
    } catch (error) {
      this.#beats = 0;
      health.failed(error);
    } finally {
      this.#schedule();
    }
  }
}
