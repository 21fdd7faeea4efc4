import { isMessage } from '@bufbuild/protobuf';
import { TimestampSchema, timestampDate } from '@bufbuild/protobuf/wkt';
import {
  EngineAttemptSchema,
  ReachedLimitSchema,
  type UsageRecord,
  UsageRecordSchema,
} from '../../../gen/parley/account/v1/account_pb.ts';
import { csvLine, save } from '../csv.ts';
import { type Kind, type RecordFilter, readRecords } from './source.ts';

const size = 1_000;
const fields = UsageRecordSchema.fields;

/**
 * Reads all records of a filter and saves them as CSV, with the columns of `parley usage export`.
 * @param onCount called with the number of records read so far
 */
export async function saveRecords(
  kind: Kind,
  filter: RecordFilter,
  onCount: (count: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const lines = [csvLine(fields.map(({ jsonName }) => jsonName))];
  let token: string | undefined;
  do {
    const page = await readRecords(kind, filter, { size, token }, signal);
    lines.push(...page.items.map(lineOf));
    onCount(lines.length - 1);
    token = page.next;
  } while (token !== undefined);
  save('parley-usage.csv', 'text/csv', lines);
}

function lineOf(record: UsageRecord): string {
  return csvLine(fields.map(({ localName }) => textOf(record[localName as keyof UsageRecord])));
}

function textOf(value: unknown): string {
  if (isMessage(value, TimestampSchema)) return timestampDate(value).toISOString();
  if (Array.isArray(value)) return value.length === 0 ? '' : jsonOf(value);
  if (typeof value === 'object') return jsonOf(value);
  return value === undefined ? '' : String(value);
}

/** JSON with the names and numbers of the REST API. */
function jsonOf(value: unknown): string {
  const nested = [EngineAttemptSchema, ReachedLimitSchema];
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member === 'bigint') return Number(member);
    const schema = nested.find((one) => isMessage(member, one));
    if (schema === undefined) return member;
    const of = member as Readonly<Record<string, unknown>>;
    return Object.fromEntries(schema.fields.map(({ jsonName, localName }) => [jsonName, of[localName]]));
  });
}
