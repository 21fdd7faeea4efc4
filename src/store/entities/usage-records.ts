/** Usage records as rows of their table, and back, and the statements that begin and end them. */
import { type Insertable, type Selectable, sql } from 'kysely';
import type {
  Operation,
  RecordEnd,
  RecordStart,
  RecordState,
  TokenUsage,
  UsageRecord,
  Wire,
} from '../../core/entities/usage.ts';
import type { AccountId, KeyId, RequestId } from '../../core/values/ids.ts';
import { type NanoCredits, nanoCredits, type Price } from '../../core/values/money.ts';
import { type Step, step } from '../sql/job.ts';
import { optionalNumber, optionalText, type UsageRecordsTable } from '../sql/schema.ts';
import { columnsOf, query, statement } from '../sql/statement.ts';

export const endColumns = [
  'state',
  'http_status',
  'code',
  'first_output_ms',
  'duration_ms',
  'audio_ms_in',
  'audio_ms_out',
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'tokens_source',
  'fair_use_units',
  'cost_nano_credits',
  'overrun_nano_credits',
] as const;

export const recordColumns = [
  'id',
  'account_id',
  'key_id',
  'operation',
  'model',
  'wire',
  'started_at_ms',
  'characters',
  'reserved_units',
  'hold_nano_credits',
  'price_input',
  'price_output',
  ...endColumns,
] as const;

/** A row to insert. Missing columns are null. */
export type NewRow = Insertable<UsageRecordsTable>;
export type EndRow = Pick<NewRow, (typeof endColumns)[number]>;

/** @param price at the start, if credits are held */
export function startedRow(start: RecordStart, hold: bigint, price: Price | undefined): NewRow {
  return {
    ...startRow(start),
    ...priceRow(price),
    state: 'started',
    reserved_units: 0,
    hold_nano_credits: hold,
  };
}

/** The row of a request that reserves nothing any more. @param price of the hold that it had */
export function endedRow(start: RecordStart, end: RecordEnd, price: Price | undefined): NewRow {
  return { ...startRow(start), ...priceRow(price), ...endRow(end), reserved_units: 0, hold_nano_credits: 0 };
}

function priceRow(price: Price | undefined) {
  return { price_input: price?.inputPerMillion ?? null, price_output: price?.outputPerMillion ?? null };
}

function startRow(start: RecordStart) {
  return {
    id: start.id,
    account_id: start.accountId,
    key_id: start.keyId,
    operation: start.operation,
    model: start.model ?? null,
    wire: start.wire,
    started_at_ms: start.startedAtMs,
    characters: start.characters ?? null,
  };
}

export function endRow(end: RecordEnd): EndRow {
  return {
    state: end.state,
    http_status: end.httpStatus,
    code: end.code ?? null,
    first_output_ms: whole(end.firstOutputMs),
    duration_ms: whole(end.durationMs),
    audio_ms_in: whole(end.audioMsIn),
    audio_ms_out: whole(end.audioMsOut),
    prompt_tokens: end.tokens?.promptTokens ?? null,
    completion_tokens: end.tokens?.completionTokens ?? null,
    total_tokens: end.tokens?.totalTokens ?? null,
    tokens_source: end.tokens?.source ?? null,
    fair_use_units: end.fairUseUnits ?? null,
    cost_nano_credits: end.cost ?? null,
    overrun_nano_credits: end.overrun ?? null,
  };
}

function whole(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value);
}

type UsageRow = Selectable<UsageRecordsTable>;

export function toRecord(row: UsageRow): UsageRecord {
  return {
    id: row.id as RequestId,
    accountId: row.account_id as AccountId,
    keyId: row.key_id as KeyId,
    operation: row.operation as Operation,
    model: optionalText(row.model),
    wire: row.wire as Wire,
    startedAtMs: Number(row.started_at_ms),
    characters: optionalNumber(row.characters),
    state: row.state as RecordState,
    httpStatus: optionalNumber(row.http_status),
    code: optionalText(row.code),
    firstOutputMs: optionalNumber(row.first_output_ms),
    durationMs: optionalNumber(row.duration_ms),
    audioMsIn: optionalNumber(row.audio_ms_in),
    audioMsOut: optionalNumber(row.audio_ms_out),
    tokens: toTokens(row),
    fairUseUnits: optionalNumber(row.fair_use_units),
    cost: optionalAmount(row.cost_nano_credits),
    overrun: optionalAmount(row.overrun_nano_credits),
  };
}

function optionalAmount(value: bigint | null): NanoCredits | undefined {
  return value === null ? undefined : nanoCredits(value);
}

function toTokens(row: UsageRow): TokenUsage | undefined {
  if (row.prompt_tokens === null || row.completion_tokens === null || row.total_tokens === null)
    return undefined;
  return {
    promptTokens: Number(row.prompt_tokens),
    completionTokens: Number(row.completion_tokens),
    totalTokens: Number(row.total_tokens),
    source: row.tokens_source === 'reported' ? 'reported' : 'estimated',
  };
}

export const startedColumns = [
  'id',
  'account_id',
  'model',
  'operation',
  'started_at_ms',
  'hold_nano_credits',
] as const;

/** A started record with its hold. */
export interface StartedRecord
  extends Pick<RecordStart, 'id' | 'accountId' | 'model' | 'operation' | 'startedAtMs'> {
  readonly hold: bigint;
}

export function toStarted(row: Pick<UsageRow, (typeof startedColumns)[number]>): StartedRecord {
  return {
    id: row.id as RequestId,
    accountId: row.account_id as AccountId,
    model: optionalText(row.model),
    operation: row.operation as Operation,
    startedAtMs: Number(row.started_at_ms),
    hold: row.hold_nano_credits,
  };
}

export const startedRecords = statement((_: object) =>
  query
    .selectFrom('usage_records')
    .select(startedColumns)
    // Written out, so that SQLite uses the index of started records.
    .where('state', '=', sql.lit('started')),
).map(toStarted);

const insert = statement((p: NewRow) =>
  query.insertInto('usage_records').values(columnsOf(p, recordColumns)),
);
const end = statement((p: EndRow & { id: RequestId }) =>
  query
    .updateTable('usage_records')
    .set({ ...columnsOf(p, endColumns), reserved_units: 0, reserved_month: null, hold_nano_credits: 0 })
    .where('id', '=', p.id)
    .where('state', '=', 'started'),
);

export function insertStarted(start: RecordStart, hold: bigint, price: Price | undefined): Step {
  return step(insert, startedRow(start, hold, price), 'fail');
}

/** Inserts the record of a request that has no started record. */
export function insertEnded(start: RecordStart, recorded: RecordEnd, price?: Price): Step {
  return step(insert, endedRow(start, recorded, price), 'fail');
}

/** Ends a started record. */
export function endStarted(id: RequestId, recorded: RecordEnd): Step {
  return step(end, { id, ...endRow(recorded) }, 'fail');
}
