/** A server that shares the database with others. */
export interface NodeState {
  /** Host and process of the server. */
  readonly name: string;
  readonly version: string;
  /** `late`: its lease has ended. `dead`: others release its requests. */
  readonly state: 'alive' | 'late' | 'dead';
  /** When its lease ends or ended, by the clock of the database. */
  readonly leaseEndsAtMs: number;
  /** Time since the end of its lease. 0 while it is alive. */
  readonly lateMs: number;
  /** Whether it is this process. */
  readonly isOwn: boolean;
}

export interface NodeStore {
  /** Nodes in the order in which they registered. Empty if one process owns the database. */
  list(): Promise<readonly NodeState[]>;
}
