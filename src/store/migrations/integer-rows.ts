/** The small rows of usage records and ledger entries on SQLite, and the same rows with texts. */

/** Words whose numbers occur in conditions of indexes. */
export const startedNumber = 0;
export const debitNumber = 1;

/** Columns that have the number of a word, or a word without a number. */
const wordColumns = ['operation', 'model', 'wire', 'state', 'code', 'tokens_source', 'engine'];
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
  'cached_tokens',
  'cache_write_tokens',
  'reserved_nano_credits',
];
const textColumns = ['cause', 'end_user', 'tags'];

const ledgerColumns = 'account, id, kind, amount_nano_credits, reason, reference, created_at_ms';

const bytesOf = (id: string) => `unhex(substr(${id}, 5))`;
const textOf = (prefix: string, bytes: string) => `'${prefix}_' || lower(hex(${bytes}))`;
const numberOf = (table: string, id: string) => `(select number from ${table} where id = ${id})`;
const numberOfWord = (word: string) => `coalesce((select number from words where word = ${word}), ${word})`;
const wordOf = (value: string) =>
  `case typeof(${value}) when 'integer' then (select word from words where number = ${value}) else ${value} end`;

const numberWord = (word: string, condition: string) => `
  insert into words (word) select ${word} where ${condition} on conflict do nothing`;

/** An entry with texts as the values of `ledgerColumns`. The id of a debit names its request, except for those of the first schema. */
const ledgerValues = [
  numberOf('accounts', 'new.account_id'),
  bytesOf('new.id'),
  numberOfWord('new.kind'),
  'new.amount_nano_credits',
  `case new.kind when 'debit' then ${numberOfWord('new.reason')} else new.reason end`,
  `case when new.kind = 'debit' and substr(new.reference, 5) = substr(new.id, 5) then null else new.reference end`,
  'new.created_at_ms',
].join(', ');

/**
 * The view of usage records with texts. `id_bytes` sorts like `id`, and has an index. Records are written to the table, or
 * here. Clients may name any model in a request that fails: only models that are served get numbers.
 */
export function recordViews(): string[] {
  const others = [...integerColumns, ...textColumns];
  const columns = ['id', 'account', 'key', ...wordColumns, ...others].join(', ');
  const values = [
    bytesOf('new.id'),
    numberOf('accounts', 'new.account_id'),
    numberOf('api_keys', 'new.key_id'),
    ...wordColumns.map((column) => numberOfWord(`new.${column}`)),
    ...others.map((column) => `new.${column}`),
  ].join(', ');
  return [
    `create view usage_records as select ${textOf('req', 'u.id')} as id, u.id as id_bytes, a.id as account_id,
    (select id from api_keys where number = u.key) as key_id,
    ${wordColumns.map((column) => `${wordOf(`u.${column}`)} as ${column}`).join(', ')},
    ${others.map((column) => `u.${column}`).join(', ')}
    from usage_rows as u left join accounts as a on a.number = u.account`,
    `create trigger usage_records_insert instead of insert on usage_records begin
    ${numberWord('new.model', "new.model is not null and new.state in ('ok', 'started')")};
    ${['code', 'engine'].map((word) => numberWord(`new.${word}`, `new.${word} is not null`)).join('; ')};
    insert into usage_rows (${columns}) values (${values}); end`,
  ];
}

/** The same for ledger entries. */
export const entryViews = [
  `create view ledger_entries as select ${textOf('led', 'l.id')} as id, l.id as id_bytes, a.id as account_id,
    ${wordOf('l.kind')} as kind, amount_nano_credits, ${wordOf('l.reason')} as reason,
    coalesce(l.reference, ${textOf('req', 'l.id')}) as reference, l.created_at_ms
    from ledger_rows as l join accounts as a on a.number = l.account`,
  `create trigger ledger_entries_insert instead of insert on ledger_entries begin
    ${numberWord('new.reason', "new.kind = 'debit'")};
    insert into ledger_rows (${ledgerColumns}) values (${ledgerValues}); end`,
  `create trigger ledger_entries_update instead of update on ledger_entries
    begin select raise(abort, 'ledger entries are never changed'); end`,
  `create trigger ledger_entries_delete instead of delete on ledger_entries
    begin select raise(abort, 'ledger entries are never removed'); end`,
];
