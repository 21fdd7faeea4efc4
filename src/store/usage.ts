import type { Month } from '../core/fair-use.ts';
import type { AccountId, KeyId, RequestId } from '../core/ids.ts';
import { type NanoCredits, nanoCredits } from '../core/money.ts';
import type {
  FairUseReservation,
  Operation,
  PageRequest,
  RecordEnd,
  RecordStart,
  RecordState,
  TokenUsage,
  UsageRecord,
  Wire,
} from '../core/ports/store.ts';
import { optionalNumber, optionalText } from './columns.ts';
import { type Connection, prepare, query } from './database.ts';
import type { UsageRow } from './schema.ts';

/** After every id there is: newest first begins here. */
const afterAll = '~';

/** What a started record has set aside. */
export interface SetAside {
  readonly accountId: AccountId;
  readonly month: Month | undefined;
  readonly units: number;
}

/** Statements on usage records. Synchronous: they run inside the store's transactions. */
export class UsageRecords {
  readonly #insert;
  readonly #started;
  readonly #setAside;
  readonly #finish;
  readonly #page;
  readonly #pageOfAccount;

  constructor(connection: Connection) {
    this.#insert = prepare(connection, insertRecord);
    this.#started = prepare(connection, (p: { id: RequestId }) =>
      query
        .selectFrom('usage_records')
        .select(['account_id', 'reserved_month', 'reserved_units'])
        .where('id', '=', p.id)
        .where('state', '=', 'started'),
    );
    this.#setAside = prepare(connection, (p: { id: RequestId; units: number; month: string }) =>
      query
        .updateTable('usage_records')
        .set({ reserved_units: p.units, reserved_month: p.month })
        .where('id', '=', p.id),
    );
    this.#finish = prepare(connection, (p: EndColumns & { id: RequestId }) =>
      query
        .updateTable('usage_records')
        .set({ ...endColumns(p), reserved_units: 0, reserved_month: null })
        .where('id', '=', p.id),
    );
    const newestFirst = query.selectFrom('usage_records').selectAll().orderBy('id', 'desc');
    this.#page = prepare(connection, (p: { after: string; size: number }) =>
      newestFirst.where('id', '<', p.after).limit(p.size),
    );
    this.#pageOfAccount = prepare(connection, (p: { accountId: string; after: string; size: number }) =>
      newestFirst.where('account_id', '=', p.accountId).where('id', '<', p.after).limit(p.size),
    );
  }

  insertStarted(start: RecordStart, reservation: FairUseReservation | undefined): void {
    this.#insert.run({
      ...startValues(start),
      ...noEnd,
      state: 'started',
      reservedUnits: reservation?.units ?? 0,
      reservedMonth: reservation?.month ?? null,
    });
  }

  insertEnded(start: RecordStart, end: RecordEnd): void {
    this.#insert.run({ ...startValues(start), ...endValues(end), reservedUnits: 0, reservedMonth: null });
  }

  /** Undefined where there is no such record, or it has ended. */
  started(id: RequestId): SetAside | undefined {
    const row = this.#started.get({ id });
    return (
      row && {
        accountId: row.account_id as AccountId,
        month: (row.reserved_month ?? undefined) as Month | undefined,
        units: Number(row.reserved_units),
      }
    );
  }

  setAside(id: RequestId, { units, month }: FairUseReservation): void {
    this.#setAside.run({ id, units, month });
  }

  finish(id: RequestId, end: RecordEnd): void {
    this.#finish.run({ id, ...endValues(end) });
  }

  list(accountId: AccountId | undefined, { size, after = afterAll }: PageRequest): UsageRecord[] {
    const rows =
      accountId === undefined
        ? this.#page.all({ after, size })
        : this.#pageOfAccount.all({ accountId, after, size });
    return rows.map(toRecord);
  }
}

interface StartColumns {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly operation: Operation;
  readonly model: string | null;
  readonly wire: Wire;
  readonly startedAtMs: number;
  readonly characters: number | null;
}

interface EndColumns {
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
}

const noEnd: Omit<EndColumns, 'state'> = {
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
};

function insertRecord(
  p: StartColumns & EndColumns & { reservedUnits: number; reservedMonth: string | null },
) {
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
    ...endColumns(p),
  });
}

function endColumns(p: EndColumns) {
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
  };
}

function startValues({ model, characters, ...start }: RecordStart): StartColumns {
  return { ...start, model: model ?? null, characters: characters ?? null };
}

function endValues(end: RecordEnd): EndColumns {
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
  };
}

function whole(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value);
}

function toRecord(row: UsageRow): UsageRecord {
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
    cost: row.cost_nano_credits === null ? undefined : nanoCredits(row.cost_nano_credits),
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
