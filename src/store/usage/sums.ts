/** How usage is summed: the same for what is shown and for what is kept of pruned records, so that neither can differ. */
import { type RawBuilder, sql } from 'kysely';
import type { TotalDimension } from '../../core/ports/usage.ts';

type Dimensions = Readonly<Record<TotalDimension, RawBuilder<string>>>;

export const recordDimensions: Dimensions = {
  account: sql<string>`account_id`,
  month: sql<string>`strftime('%Y-%m', started_at_ms / 1000, 'unixepoch')`,
  day: sql<string>`strftime('%Y-%m-%d', started_at_ms / 1000, 'unixepoch')`,
  operation: sql<string>`operation`,
  // A refused request may have named anything: a client could so make as many sums as it sends requests.
  model: sql<string>`case state when 'refused' then '' else coalesce(model, '') end`,
  state: sql<string>`state`,
};

export const rollupDimensions: Dimensions = {
  account: sql<string>`account_id`,
  month: sql<string>`substr(day, 1, 7)`,
  day: sql<string>`day`,
  operation: sql<string>`operation`,
  model: sql<string>`model`,
  state: sql<string>`state`,
};

const summedColumns = [
  'characters',
  'audio_ms_in',
  'audio_ms_out',
  'prompt_tokens',
  'completion_tokens',
  'fair_use_units',
  'cost_nano_credits',
] as const;

export const sumColumns = ['requests', ...summedColumns] as const;
export type SumColumn = (typeof sumColumns)[number];

const summed = summedColumns.map((column) => sumOf(column));

export const recordSums = [sql<bigint>`count(*)`.as('requests'), ...summed] as const;
export const rollupSums = [sumOf('requests'), ...summed] as const;

function sumOf(column: SumColumn) {
  return sql<bigint>`coalesce(sum(${sql.ref(column)}), 0)`.as(column);
}
