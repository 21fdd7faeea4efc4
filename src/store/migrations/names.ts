/** Migrations of SQLite, in order. Apart from `migrations.ts`, which loads the query builder. */
export const sqliteMigrations = [
  '0001-initial',
  '0002-debits-by-request',
  '0003-usage-rollups',
  '0004-policy-version',
  '0006-limits',
  '0008-alerts',
  '0010-ended-sessions',
  '0011-fair-use-counts',
  '0012-integer-rows',
  '0013-text-views',
  '0015-cached-tokens',
  '0016-usage-sums',
  '0018-person-sessions',
  '0019-waiting-addresses',
  '0020-sums-at-end',
] as const;
