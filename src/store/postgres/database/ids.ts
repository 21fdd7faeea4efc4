/**
 * Ids are `uuid` in PostgreSQL: 16 bytes instead of 36. The 32 hexadecimal digits of an id are those of the uuid, so
 * both sort alike. The column determines the prefix.
 */
const anId = /^[a-z]{3}_[0-9a-f]{32}$/;
/** The beginning of an id, as `firstRequestId` makes it. */
const digitsOfBound = /^[a-z]{3}_([0-9a-f]{0,32})$/;
const digits = 32;

/** Prefixes by the name of a column, or of a table for its `id`. */
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

/** Stands for an empty id, which sums have from before keys were counted separately. */
const noUuid = '00000000-0000-0000-0000-000000000000';

/** The uuid of an id. Null, which equals nothing, if the text is not an id. */
export function toUuid(id: string): string | null {
  if (id === '') return noUuid;
  return anId.test(id) ? id.slice(-digits) : null;
}

/** A bound of a range of ids: empty before all, else an id or its beginning. */
export function boundUuid(bound: string): string | null {
  if (bound === '') return '0'.repeat(digits);
  return digitsOfBound.exec(bound)?.[1]?.padEnd(digits, '0') ?? null;
}

/** @param column the column of the uuid, or the table for its `id` */
export function fromUuid(column: string, uuid: string): string {
  if (uuid === noUuid) return '';
  const prefix = prefixes[column];
  if (prefix === undefined) throw new Error(`the column ${column} has no ids`);
  return `${prefix}_${uuid.replaceAll('-', '')}`;
}

/** Parameters of statements that are ids, or bounds of ranges of ids. */
const idNames: ReadonlySet<PropertyKey> = new Set([
  ...['id', 'accountId', 'account_id', 'keyId', 'key_id', 'requestId', 'request_id'],
]);
const boundNames: ReadonlySet<PropertyKey> = new Set(['after', 'last', 'since', 'until']);

/** The value of a parameter in the form that PostgreSQL accepts. */
export function encoded(name: PropertyKey, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (idNames.has(name)) return toUuid(value);
  if (boundNames.has(name)) return boundUuid(value);
  return storable(value);
}

/** PostgreSQL cannot store a zero byte in a text. */
export function storable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\u{fffd}') : text;
}
