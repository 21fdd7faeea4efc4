/** Migrations of SQLite, in order. Apart from `migrations.ts`, which loads the query builder. */
export const sqliteMigrations = ['0020-initial', '0021-causes', '0022-secrets', '0023-labels'] as const;
