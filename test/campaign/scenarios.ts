import { postgresClock } from './postgres-clock.ts';
import { postgresDiskFull } from './postgres-disk-full.ts';
import { postgresKill } from './postgres-kill.ts';
import { postgresLive } from './postgres-live.ts';
import { postgresNodes } from './postgres-nodes.ts';
import { postgresRestore } from './postgres-restore.ts';
import { postgresRetries } from './postgres-retries.ts';
import { postgresStandby } from './postgres-standby.ts';
import { postgresUpstream } from './postgres-upstream.ts';
import { postgresWebhooks } from './postgres-webhooks.ts';
import type { Scenario } from './scenario.ts';
import { sqliteClock } from './sqlite-clock.ts';
import { sqliteDisk } from './sqlite-disk.ts';
import { sqliteKill } from './sqlite-kill.ts';
import { sqliteLive } from './sqlite-live.ts';
import { sqliteMoments } from './sqlite-moments.ts';
import { sqlitePower } from './sqlite-power.ts';
import { sqliteRestore } from './sqlite-restore.ts';
import { sqliteWebhooks } from './sqlite-webhooks.ts';

/** Scenarios by the names of their files. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  'postgres-clock': postgresClock,
  'postgres-disk-full': postgresDiskFull,
  'postgres-kill': postgresKill,
  'postgres-live': postgresLive,
  'postgres-nodes': postgresNodes,
  'postgres-restore': postgresRestore,
  'postgres-retries': postgresRetries,
  'postgres-standby': postgresStandby,
  'postgres-upstream': postgresUpstream,
  'postgres-webhooks': postgresWebhooks,
  'sqlite-clock': sqliteClock,
  'sqlite-disk': sqliteDisk,
  'sqlite-kill': sqliteKill,
  'sqlite-live': sqliteLive,
  'sqlite-moments': sqliteMoments,
  'sqlite-power': sqlitePower,
  'sqlite-restore': sqliteRestore,
  'sqlite-webhooks': sqliteWebhooks,
};
