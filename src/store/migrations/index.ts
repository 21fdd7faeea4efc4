/** Every migration, imported by name so that a bundle holds them all. Applied in the order of their names, never edited. */
import type { Migration } from 'kysely/migration';
import * as initial from './0001-initial.ts';
import * as debitsByRequest from './0002-debits-by-request.ts';
import * as usageRollups from './0003-usage-rollups.ts';

export const migrations: Record<string, Migration> = {
  '0001-initial': initial,
  '0002-debits-by-request': debitsByRequest,
  '0003-usage-rollups': usageRollups,
};
