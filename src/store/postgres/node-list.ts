import { sql } from 'kysely';
import { statement } from '../sql/statement.ts';

interface NodeRow {
  readonly epoch: bigint;
  readonly name: string;
  readonly version: string;
  readonly dead: boolean;
  readonly lease_ends_at_ms: number;
  readonly late_ms: number;
}

export const nodesInOrder = statement(
  (_: object) => sql<NodeRow>`select epoch, name, version, dead,
    (extract(epoch from lease_until) * 1000)::float8 as lease_ends_at_ms,
    greatest(extract(epoch from clock_timestamp() - lease_until) * 1000, 0)::float8 as late_ms
  from nodes order by epoch`,
).map(({ lease_ends_at_ms, late_ms, dead, ...row }) => ({
  ...row,
  state: dead ? ('dead' as const) : late_ms > 0 ? ('late' as const) : ('alive' as const),
  leaseEndsAtMs: Math.round(lease_ends_at_ms),
  lateMs: Math.round(late_ms),
}));
