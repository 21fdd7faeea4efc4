/** Usage records as rows of their table, and back. */
import type { Insertable, Selectable } from 'kysely';
import type {
  Operation,
  RecordCause,
  RecordEnd,
  RecordStart,
  RecordState,
  TokenUsage,
  UsageRecord,
  Wire,
} from '../../core/entities/usage.ts';
import type { AccountId, KeyId, RequestId } from '../../core/values/ids.ts';
import { type NanoCredits, nanoCredits, type Price } from '../../core/values/money.ts';
import { optionalNumber, optionalText, type UsageRecordsTable } from '../sql/schema.ts';

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
  'cached_tokens',
  'cache_write_tokens',
  'fair_use_units',
  'cost_nano_credits',
  'overrun_nano_credits',
  'engine',
  'reserved_nano_credits',
  'cause',
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
  'hold_nano_credits',
  'price_input',
  'price_output',
  'end_user',
  'tags',
  ...endColumns,
] as const;

/** A row to insert. Missing columns are null. */
export type NewRow = Insertable<UsageRecordsTable>;
export type EndRow = Pick<NewRow, (typeof endColumns)[number]>;

/** @param price the price at the start, if credits are held */
export function startedRow(start: RecordStart, hold: bigint, price: Price | undefined): NewRow {
  return rowOf({ state: 'started' }, start, hold, price);
}

/** The row of a request without a reservation. @param price the price of its former hold */
export function endedRow(start: RecordStart, end: RecordEnd, price: Price | undefined): NewRow {
  return rowOf(endRow(end), start, 0n, price);
}

/** Spreads only the first members, as that is fast. */
function rowOf(
  ends: Pick<NewRow, 'state'> | EndRow,
  start: RecordStart,
  hold: bigint,
  price: Price | undefined,
): NewRow {
  return {
    ...ends,
    id: start.id,
    account_id: start.accountId,
    key_id: start.keyId,
    operation: start.operation,
    model: start.model ?? null,
    wire: start.wire,
    started_at_ms: start.startedAtMs,
    characters: start.characters ?? null,
    hold_nano_credits: hold,
    price_input: price?.inputPerMillion ?? null,
    price_output: price?.outputPerMillion ?? null,
    end_user: start.endUser ?? null,
    tags: start.tags ?? null,
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
    cached_tokens: end.tokens?.cachedTokens ?? null,
    cache_write_tokens: end.tokens?.cacheWriteTokens ?? null,
    fair_use_units: end.fairUseUnits ?? null,
    cost_nano_credits: end.cost ?? null,
    overrun_nano_credits: end.overrun ?? null,
    engine: end.engine ?? null,
    reserved_nano_credits: end.reserved ?? null,
    cause: end.cause === undefined ? null : causeText(end.cause),
  };
}

const amountNames: ReadonlySet<string> = new Set(['amount', 'limit', 'taken']);

/** Amounts may exceed a double, so they are texts. */
function causeText(cause: RecordCause): string {
  return JSON.stringify(cause, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

function readCause(text: string): RecordCause {
  return JSON.parse(text, (name, value: unknown) =>
    amountNames.has(name) && typeof value === 'string' ? BigInt(value) : value,
  ) as RecordCause;
}

function whole(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value);
}

type UsageRow = Selectable<UsageRecordsTable>;

export function toRecord(row: UsageRow): UsageRecord {
  return {
    ...startOf(row),
    wire: row.wire as Wire,
    endUser: optionalText(row.end_user),
    tags: optionalText(row.tags),
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
    engine: optionalText(row.engine),
    reserved: optionalAmount(row.reserved_nano_credits),
    cause: row.cause === null ? undefined : readCause(row.cause),
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
    cachedTokens: optionalNumber(row.cached_tokens),
    cacheWriteTokens: optionalNumber(row.cache_write_tokens),
    completionTokens: Number(row.completion_tokens),
    totalTokens: Number(row.total_tokens),
    source: row.tokens_source === 'reported' ? 'reported' : 'estimated',
  };
}

export const startedColumns = [
  'id',
  'account_id',
  'key_id',
  'model',
  'operation',
  'started_at_ms',
  'characters',
  'hold_nano_credits',
] as const;

/** A started record with its hold. */
export interface StartedRecord extends Omit<RecordStart, 'wire'> {
  readonly hold: bigint;
}

export function toStarted(row: Pick<UsageRow, (typeof startedColumns)[number]>): StartedRecord {
  return { ...startOf(row), hold: row.hold_nano_credits };
}

function startOf(row: Omit<Parameters<typeof toStarted>[0], 'hold_nano_credits'>): Omit<RecordStart, 'wire'> {
  return {
    id: row.id as RequestId,
    accountId: row.account_id as AccountId,
    keyId: row.key_id as KeyId,
    model: optionalText(row.model),
    operation: row.operation as Operation,
    startedAtMs: Number(row.started_at_ms),
    characters: optionalNumber(row.characters),
  };
}
