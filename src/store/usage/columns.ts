/** A usage record as columns, and back. */
import type { Month } from '../../core/billing/fair-use.ts';
import { type NanoCredits, nanoCredits } from '../../core/billing/money.ts';
import type { AccountId, KeyId, RequestId } from '../../core/ids.ts';
import type {
  Operation,
  RecordEnd,
  RecordStart,
  RecordState,
  TokenUsage,
  UsageRecord,
  Wire,
} from '../../core/ports/usage.ts';
import { query } from '../sqlite/database.ts';
import { optionalNumber, optionalText } from '../tables/columns.ts';
import type { UsageRow } from '../tables/schema.ts';

export const nothing = nanoCredits(0n);
export const setAsideColumns = [
  'account_id',
  'model',
  'started_at_ms',
  'reserved_month',
  'reserved_units',
  'hold_nano_credits',
] as const;

/** What a started record has set aside. */
export interface SetAside {
  readonly accountId: AccountId;
  readonly model: string | undefined;
  readonly startedAtMs: number;
  readonly month: Month | undefined;
  readonly units: number;
  readonly hold: NanoCredits;
}

export interface StartColumns {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly operation: Operation;
  readonly model: string | null;
  readonly wire: Wire;
  readonly startedAtMs: number;
  readonly characters: number | null;
}

export interface EndColumns {
  readonly state: RecordState;
  readonly httpStatus: number | null;
  readonly code: string | null;
  readonly firstOutputMs: number | null;
  readonly durationMs: number | null;
  readonly audioMsIn: number | null;
  readonly audioMsOut: number | null;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly totalTokens: number | null;
  readonly tokensSource: TokenUsage['source'] | null;
  readonly fairUseUnits: number | null;
  readonly cost: NanoCredits | null;
  readonly overrun: NanoCredits | null;
}

export interface SetAsideValues {
  readonly reservedUnits: number;
  readonly reservedMonth: string | null;
  readonly hold: NanoCredits;
  readonly priceInput: NanoCredits | null;
  readonly priceOutput: NanoCredits | null;
}

export const nothingSetAside: SetAsideValues = {
  reservedUnits: 0,
  reservedMonth: null,
  hold: nothing,
  priceInput: null,
  priceOutput: null,
};

export const noEnd: Omit<EndColumns, 'state'> = {
  httpStatus: null,
  code: null,
  firstOutputMs: null,
  durationMs: null,
  audioMsIn: null,
  audioMsOut: null,
  promptTokens: null,
  completionTokens: null,
  totalTokens: null,
  tokensSource: null,
  fairUseUnits: null,
  cost: null,
  overrun: null,
};

export function insertRecord(p: StartColumns & EndColumns & SetAsideValues) {
  return query.insertInto('usage_records').values({
    id: p.id,
    account_id: p.accountId,
    key_id: p.keyId,
    operation: p.operation,
    model: p.model,
    wire: p.wire,
    started_at_ms: p.startedAtMs,
    characters: p.characters,
    reserved_units: p.reservedUnits,
    reserved_month: p.reservedMonth,
    hold_nano_credits: p.hold,
    price_input: p.priceInput,
    price_output: p.priceOutput,
    ...endColumns(p),
  });
}

export function endColumns(p: EndColumns) {
  return {
    state: p.state,
    http_status: p.httpStatus,
    code: p.code,
    first_output_ms: p.firstOutputMs,
    duration_ms: p.durationMs,
    audio_ms_in: p.audioMsIn,
    audio_ms_out: p.audioMsOut,
    prompt_tokens: p.promptTokens,
    completion_tokens: p.completionTokens,
    total_tokens: p.totalTokens,
    tokens_source: p.tokensSource,
    fair_use_units: p.fairUseUnits,
    cost_nano_credits: p.cost,
    overrun_nano_credits: p.overrun,
  };
}

export function startValues({ model, characters, ...start }: RecordStart): StartColumns {
  return { ...start, model: model ?? null, characters: characters ?? null };
}

export function endValues(end: RecordEnd): EndColumns {
  return {
    state: end.state,
    httpStatus: end.httpStatus,
    code: end.code ?? null,
    firstOutputMs: whole(end.firstOutputMs),
    durationMs: whole(end.durationMs),
    audioMsIn: whole(end.audioMsIn),
    audioMsOut: whole(end.audioMsOut),
    promptTokens: end.tokens?.promptTokens ?? null,
    completionTokens: end.tokens?.completionTokens ?? null,
    totalTokens: end.tokens?.totalTokens ?? null,
    tokensSource: end.tokens?.source ?? null,
    fairUseUnits: end.fairUseUnits ?? null,
    cost: end.cost ?? null,
    overrun: end.overrun ?? null,
  };
}

function whole(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value);
}

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

export function toSetAside(row: Pick<UsageRow, (typeof setAsideColumns)[number]>): SetAside {
  return {
    accountId: row.account_id as AccountId,
    model: optionalText(row.model),
    startedAtMs: Number(row.started_at_ms),
    month: (row.reserved_month ?? undefined) as Month | undefined,
    units: Number(row.reserved_units),
    hold: nanoCredits(row.hold_nano_credits),
  };
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
