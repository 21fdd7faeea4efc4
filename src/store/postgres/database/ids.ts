/**
 * Ids are `uuid` in PostgreSQL: 16 bytes rather than 36. Their 32 hexadecimal digits are those of the uuid, so both sort alike; the
 * prefix is that of the column.
 */
const digitsOfId = /^[a-z]{3}_([0-9a-f]{32})$/;
/** The beginning of an id, such as `firstRequestId` makes it. */
const digitsOfBound = /^[a-z]{3}_([0-9a-f]{0,32})$/;
const digits = 32;

/** Prefixes by the name of a column, or of the table whose `id` it is. */
const prefixes: Readonly<Record<string, string>> = {
  account_id: 'acc',
  account: 'acc',
  key_id: 'key',
  key: 'key',
  request_id: 'req',
  accounts: 'acc',
  api_keys: 'key',
  ledger_entries: 'led',
  usage_records: 'req',
  audit_entries: 'aud',
  alerts: 'alr',
  latest_load: 'led',
};

/** Stands for an empty id: sums from before keys were counted apart have one. */
const noUuid = '00000000-0000-0000-0000-000000000000';

/** The uuid of an id; null, which equals nothing, if the text is no id. */
export function toUuid(id: string): string | null {
  if (id === '') return noUuid;
  return digitsOfId.exec(id)?.[1] ?? null;
}

/** A bound of a range of ids: empty before all, `~` after all, else an id or its beginning. */
export function boundUuid(bound: string): string | null {
  if (bound === '') return '0'.repeat(digits);
  if (bound === '~') return 'f'.repeat(digits);
  return digitsOfBound.exec(bound)?.[1]?.padEnd(digits, '0') ?? null;
}

/** @param column of the uuid, or the table whose `id` it is */
export function fromUuid(column: string, uuid: string): string {
  if (uuid === noUuid) return '';
  const prefix = prefixes[column];
  if (prefix === undefined) throw new Error(`the column ${column} has no ids`);
  return `${prefix}_${uuid.replaceAll('-', '')}`;
}

/** Parameters of statements that are ids, and those that bound ranges of ids. */
const idNames: ReadonlySet<PropertyKey> = new Set([
  ...['id', 'accountId', 'account_id', 'keyId', 'key_id', 'requestId', 'request_id'],
]);
const boundNames: ReadonlySet<PropertyKey> = new Set(['after', 'last', 'since', 'until']);

/** The value of a parameter as PostgreSQL takes it. */
export function encoded(name: PropertyKey, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (idNames.has(name)) return toUuid(value);
  if (boundNames.has(name)) return boundUuid(value);
  return storable(value);
}

/** PostgreSQL keeps no zero byte in a text. */
export function storable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\u{fffd}') : text;
}
