/** Migrations of SQLite, in order. Apart from `migrations.ts`, which loads the query builder. */
export const sqliteMigrations = ['0024-initial'] as const;
