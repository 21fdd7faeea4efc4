/** Usage records as rows of their table, and back, and the statements that begin and end them. */
import { type Insertable, type Selectable, sql } from 'kysely';
import type { Reservation } from '../../core/entities/reservation.ts';
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
import type { Month } from '../../core/values/month.ts';
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
  'reserved_month',
  'hold_nano_credits',
  'price_input',
  'price_output',
  ...endColumns,
] as const;

/** A row to insert. Missing columns are null. */
export type NewRow = Insertable<UsageRecordsTable>;
export type EndRow = Pick<NewRow, (typeof endColumns)[number]>;

export function startedRow(start: RecordStart, { fairUse, hold }: Reservation): NewRow {
  return {
    ...startRow(start),
    ...priceRow(hold?.price),
    state: 'started',
    reserved_units: fairUse?.units ?? 0,
    reserved_month: fairUse?.month ?? null,
    hold_nano_credits: hold?.amount ?? 0,
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
  'started_at_ms',
  'reserved_month',
  'reserved_units',
  'hold_nano_credits',
] as const;

/** A started record with its reservation. */
export interface StartedRecord {
  readonly id: RequestId;
  readonly accountId: AccountId;
  readonly model: string | undefined;
  readonly startedAtMs: number;
  readonly month: Month | undefined;
  readonly units: number;
  readonly hold: NanoCredits;
}

export function toStarted(row: Pick<UsageRow, (typeof startedColumns)[number]>): StartedRecord {
  return {
    id: row.id as RequestId,
    accountId: row.account_id as AccountId,
    model: optionalText(row.model),
    startedAtMs: Number(row.started_at_ms),
    month: (row.reserved_month ?? undefined) as Month | undefined,
    units: Number(row.reserved_units),
    hold: nanoCredits(row.hold_nano_credits),
  };
}

/** The end of a request whose process died: it costs nothing. */
export function interruptedEnd({ startedAtMs, month }: StartedRecord, nowMs: number): RecordEnd {
  return {
    state: 'interrupted',
    httpStatus: 500,
    code: 'internal_error',
    durationMs: Math.max(0, nowMs - startedAtMs),
    firstOutputMs: undefined,
    audioMsIn: undefined,
    audioMsOut: undefined,
    tokens: undefined,
    fairUseUnits: month && 0,
    cost: undefined,
    overrun: undefined,
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
const extend = statement((p: { id: RequestId; units: number }) =>
  query.updateTable('usage_records').set({ reserved_units: p.units }).where('id', '=', p.id),
);
const end = statement((p: EndRow & { id: RequestId }) =>
  query
    .updateTable('usage_records')
    .set({ ...columnsOf(p, endColumns), reserved_units: 0, reserved_month: null, hold_nano_credits: 0 })
    .where('id', '=', p.id)
    .where('state', '=', 'started'),
);

export function insertStarted(start: RecordStart, reservation: Reservation): Step {
  return step(insert, startedRow(start, reservation), 'fail');
}

/** Inserts the record of a request that has no started record. */
export function insertEnded(start: RecordStart, recorded: RecordEnd, price?: Price): Step {
  return step(insert, endedRow(start, recorded, price), 'fail');
}

/** Changes the reserved units of a started record. */
export function extendStarted(id: RequestId, units: number): Step {
  return step(extend, { id, units }, 'fail');
}

/** Ends a started record. */
export function endStarted(id: RequestId, recorded: RecordEnd): Step {
  return step(end, { id, ...endRow(recorded) }, 'fail');
}
