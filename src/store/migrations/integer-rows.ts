/** The small rows of usage records and ledger entries on SQLite, and the same rows with texts. */

/** Words whose numbers occur in conditions of indexes. */
export const startedNumber = 0;
export const debitNumber = 1;

/** Columns that have the number of a word, or a word without a number. */
const wordColumns = ['operation', 'model', 'wire', 'state', 'code', 'tokens_source'];
const integerColumns = [
  'http_status',
  'started_at_ms',
  'first_output_ms',
  'duration_ms',
  'audio_ms_in',
  'audio_ms_out',
  'characters',
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'hold_nano_credits',
  'price_input',
  'price_output',
  'fair_use_units',
  'cost_nano_credits',
  'overrun_nano_credits',
];

export const usageColumns = ['id', 'account', 'key', ...wordColumns, ...integerColumns].join(', ');
export const ledgerColumns = 'account, id, kind, amount_nano_credits, reason, reference, created_at_ms';

const bytesOf = (id: string) => `unhex(substr(${id}, 5))`;
const textOf = (prefix: string, bytes: string) => `'${prefix}_' || lower(hex(${bytes}))`;
const numberOf = (table: string, id: string) => `(select number from ${table} where id = ${id})`;
const numberOfWord = (word: string) => `coalesce((select number from words where word = ${word}), ${word})`;
const wordOf = (value: string) =>
  `case typeof(${value}) when 'integer' then (select word from words where number = ${value}) else ${value} end`;

const numberWord = (word: string, from: string, condition: string) => `
  insert into words (word) select ${word} ${from} where ${condition} on conflict do nothing`;

/** Numbers the words of records. Clients may name any model in a request that fails: only models that are served get numbers. */
export const numberWords = (row: string, from = '') => [
  numberWord(`${row}.model`, from, `${row}.model is not null and ${row}.state in ('ok', 'started')`),
  numberWord(`${row}.code`, from, `${row}.code is not null`),
];

/** Numbers the models of debits. */
export const numberReasons = (row: string, from = '') => [
  numberWord(`${row}.reason`, from, `${row}.kind = 'debit'`),
];

/** A record with texts as the values of `usageColumns`. @param added further columns with integers, at the end */
export const usageValues = (row: string, added: readonly string[] = []) =>
  [
    bytesOf(`${row}.id`),
    numberOf('accounts', `${row}.account_id`),
    numberOf('api_keys', `${row}.key_id`),
    ...wordColumns.map((column) => numberOfWord(`${row}.${column}`)),
    ...[...integerColumns, ...added].map((column) => `${row}.${column}`),
  ].join(', ');

/** An entry with texts as the values of `ledgerColumns`. The id of a debit names its request, except for those of the first schema. */
export const ledgerValues = (row: string) => {
  const isSaidById = `${row}.kind = 'debit' and substr(${row}.reference, 5) = substr(${row}.id, 5)`;
  return [
    numberOf('accounts', `${row}.account_id`),
    bytesOf(`${row}.id`),
    numberOfWord(`${row}.kind`),
    `${row}.amount_nano_credits`,
    `case ${row}.kind when 'debit' then ${numberOfWord(`${row}.reason`)} else ${row}.reason end`,
    `case when ${isSaidById} then null else ${row}.reference end`,
    `${row}.created_at_ms`,
  ].join(', ');
};

/**
 * The view of usage records with texts. `id_bytes` sorts like `id`, and has an index. Records are written to the table, or
 * here.
 * @param added columns of integers that the first tables did not have
 */
export const recordViews = (added: readonly string[] = []) => [
  `create view usage_records as select ${textOf('req', 'u.id')} as id, u.id as id_bytes, a.id as account_id,
    (select id from api_keys where number = u.key) as key_id,
    ${wordColumns.map((column) => `${wordOf(`u.${column}`)} as ${column}`).join(', ')},
    ${[...integerColumns, ...added].map((column) => `u.${column}`).join(', ')}, 0 as reserved_units, null as reserved_month
    from usage_rows as u left join accounts as a on a.number = u.account`,
  `create trigger usage_records_insert instead of insert on usage_records begin
    ${numberWords('new').join('; ')};
    insert into usage_rows (${[usageColumns, ...added].join(', ')}) values (${usageValues('new', added)}); end`,
];

/** The same for ledger entries. */
export const entryViews = [
  `create view ledger_entries as select ${textOf('led', 'l.id')} as id, l.id as id_bytes, a.id as account_id,
    ${wordOf('l.kind')} as kind, amount_nano_credits, ${wordOf('l.reason')} as reason,
    coalesce(l.reference, ${textOf('req', 'l.id')}) as reference, l.created_at_ms
    from ledger_rows as l join accounts as a on a.number = l.account`,
  `create trigger ledger_entries_insert instead of insert on ledger_entries begin
    ${numberReasons('new').join('; ')};
    insert into ledger_rows (${ledgerColumns}) values (${ledgerValues('new')}); end`,
  `create trigger ledger_entries_update instead of update on ledger_entries
    begin select raise(abort, 'ledger entries are never changed'); end`,
  `create trigger ledger_entries_delete instead of delete on ledger_entries
    begin select raise(abort, 'ledger entries are never removed'); end`,
];
