/** Runs a case over a wire, and returns everything that can be seen from outside. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { status as grpcStatus } from '@grpc/grpc-js';
import { SpeechService } from '../../gen/parley/speech/v1/speech_service_pb.ts';
import { type ErrorCode, errorTable, ParleyError } from '../../src/core/values/errors.ts';
import { answerOf, withoutChance } from './answer.ts';
import type { Account, Books, Json, Operator } from './books.ts';
import type { Case, CaseRequest } from './case.ts';
import type { Method, WireAnswer, WireCall, WireClient, WireError } from './wire.ts';

export interface Observation {
  readonly answer: unknown;
  readonly error: unknown;
  readonly isReplay: boolean;
  /** Oldest first. */
  readonly records: readonly JsonValue[];
  readonly entries: readonly JsonValue[];
  /** Rules of the books that are broken. */
  readonly faults: readonly string[];
}

/** The header with the key. */
export type KeyHeader = 'authorization' | 'x-api-key';

export async function observe(
  row: Case,
  client: WireClient,
  operator: Operator,
  keyHeader: KeyHeader = 'authorization',
): Promise<Observation> {
  const account = await operator.open(row.caller ?? {});
  const send = (request: CaseRequest, limits: Pick<WireCall, 'timeoutMs' | 'signal'> = {}) =>
    client.call({
      method: request.method,
      requests: request.messages(account),
      headers: {
        ...headerWith(account.authorization, keyHeader),
        ...(row.idempotencyKey !== undefined && { 'idempotency-key': row.idempotencyKey }),
      },
      ...limits,
    });
  for (const request of row.before ?? []) await send(request);
  const leave = new AbortController();
  const running = row.meanwhile && send(row.meanwhile, { signal: leave.signal });
  if (running) await operator.untilRecorded(account, (row.before?.length ?? 0) + 1);
  const answer = await send(row.request, { timeoutMs: row.timeoutMs });
  leave.abort();
  await running;
  const books = await operator.booksOf(account, row.records.length);
  const isPartial =
    answer.error !== undefined && row.request.method === SpeechService.method.synthesizeSpeech;
  const seen = isPartial ? undefined : answerOf(row.request.method, answer.messages);
  return {
    answer: row.compare && answer.error === undefined ? row.compare(seen) : seen,
    error: answer.error && errorSeen(answer.error, row, row.request.method),
    isReplay: answer.isReplay,
    records: row.hasTurns ? sessionFirst(books.records.map(recordSeen)) : books.records.map(recordSeen),
    entries: books.entries.map((entry) => entrySeen(entry, books)),
    faults: faultsOf({ account, client, answer, books }),
  };
}

function headerWith(authorization: string | undefined, name: KeyHeader): Record<string, string> {
  if (authorization === undefined) return {};
  return { [name]: name === 'authorization' ? authorization : authorization.replace(/^Bearer /, '') };
}

/** After a part was sent, REST can no longer report an error by its status, and can only cut audio. */
function errorSeen(error: WireError, { error: expected }: Case, method: Method): unknown {
  const { code, grpcCode, ...members } = error;
  if (code === 'deadline_exceeded') return { code };
  if (expected?.afterOutput) {
    const isAudio = method === SpeechService.method.synthesizeSpeech;
    return { code: isAudio && code === 'cut' ? expected.code : code };
  }
  const grpc = grpcCode === undefined ? expectedGrpc(error) : grpcStatus[grpcCode];
  // The time until the next minute or day varies.
  const waits = code === 'rate_limit_exceeded' && members.retryAfterSeconds !== undefined;
  const wait = waits ? { retryAfterSeconds: '<time>' } : {};
  return { code, ...members, ...wait, message: withoutChance(error.message), grpc };
}

const ownOfRequest: ReadonlySet<string> = new Set(['id', 'account_id', 'key_id', 'wire', 'started_at']);

function recordSeen(record: Json): JsonValue {
  const members = Object.entries(record).filter(([name]) => !ownOfRequest.has(name));
  return withoutChance(Object.fromEntries(members) as JsonObject);
}

/** A session has no units of its own; a request that was refused has none at all. */
function sessionFirst(records: readonly JsonValue[]): JsonValue[] {
  const rank = (record: JsonValue) => {
    const { model, fair_use_units: units } = record as JsonObject;
    if (units === 0) return model === undefined ? 0 : 1;
    return units === undefined ? 3 : 2;
  };
  return records.toSorted((a, b) => rank(a) - rank(b) || (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

function entrySeen({ kind, amount, reason, reference }: Json, { records }: Books): JsonValue {
  const index = records.findIndex(({ id }) => id === reference);
  return { kind, amount, reason, reference: index < 0 ? reference : `record ${index}` } as JsonObject;
}

interface Outcome {
  readonly account: Account;
  readonly client: WireClient;
  readonly answer: WireAnswer;
  readonly books: Books;
}

/** Rules for every request on every wire. */
function faultsOf({ account, client, answer, books }: Outcome): string[] {
  const { records, entries, balance, held, usedUnits } = books;
  const sum = (rows: readonly Json[], member: string) =>
    rows.reduce((total, row) => total + Number(row[member] ?? 0), 0);
  const rules: Record<string, boolean> = {
    'each record names the wire': records.every(({ wire }) => wire === client.wire),
    'each record names the key': records.every(({ key_id }) => key_id === account.keyId),
    'the answer names its record':
      answer.error?.code === 'deadline_exceeded' ||
      (answer.requestId !== undefined &&
        (records.length === 0 || records.some(({ id }) => id === answer.requestId))),
    'the balance is the sum of the entries': balance === sum(entries, 'amount_nano_credits'),
    'debits are the costs of the records':
      -sum(
        entries.filter(({ kind }) => kind === 'debit'),
        'amount_nano_credits',
      ) === sum(records, 'cost_nano_credits'),
    'nothing is held any more': held === 0,
    'units used are those of the records': usedUnits === sum(records, 'fair_use_units'),
  };
  return Object.keys(rules).filter((rule) => !rules[rule]);
}

/** The gRPC code of an error that REST returned. */
function expectedGrpc({ code, httpStatus }: WireError): string | undefined {
  if (!(code in errorTable)) return undefined;
  const details = httpStatus === undefined ? {} : { httpStatus };
  return new ParleyError(code as ErrorCode, details).grpcCode;
}
