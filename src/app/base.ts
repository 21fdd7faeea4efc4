/** The parts of the server on which all others stand: its log, certificate, clocks, store and tracer. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { steadyClock } from '../core/access/steady-clock.ts';
import { Retention } from '../core/billing/retention.ts';
import { Unsettled } from '../core/billing/unsettled.ts';
import type { Store, StoreObserver } from '../core/entities/store.ts';
import type { Tracer } from '../core/entities/tracer.ts';
import { type Clock, systemClock } from '../core/values/clock.ts';
import type { Diagnostic } from '../core/values/diagnostics.ts';
import type { Log } from '../core/values/log.ts';
import { makeFolder } from '../files/folders.ts';
import { diagnoseLog } from '../store/maintenance/diagnostics.ts';
import { databaseName } from '../store/sqlite/database/connection.ts';
import { privateFile } from '../store/sqlite/database/data-folder.ts';
import { openStore as openSqliteStore } from '../store/sqlite/open-store.ts';
import { type TlsFiles, TlsPair } from '../transports/http/tls-pair.ts';
import { privacy } from './diagnostics/machine.ts';
import { createLog } from './log.ts';
import { Readiness } from './readiness.ts';
import { version } from './version.ts';

export interface BaseOverrides {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly openStore?: OpenStore;
}

export interface Base {
  readonly clock: Clock;
  /** For keys and sessions: it never goes back, whatever the clock does. */
  readonly accessClock: Clock;
  readonly log: Log;
  readonly tls: TlsPair | undefined;
  readonly readiness: Readiness;
  readonly store: Store;
  readonly unsettled: Unsettled;
  /** Undefined if nothing is traced. */
  readonly tracer: Tracer | undefined;
  /** Collects resources to close, in reverse order. */
  readonly opened: AsyncDisposableStack;
}

export async function openBase(
  config: Config,
  { clock = systemClock, log = createLog(config.log.level), openStore }: BaseOverrides,
  opened: AsyncDisposableStack,
): Promise<Base> {
  const tls = config.tls && (await openTls(config.tls, log));
  opened.defer(() => tls?.close());
  const readiness = new Readiness(log, config.dataDir);
  const store = await openData(config, { clock, log, observer: readiness, openStore }, opened);
  const unsettled = opened.adopt(new Unsettled(store, log), (ends) => ends.close());
  const tracer = await openTracer(config);
  if (tracer) opened.defer(() => endTraces(tracer, log));
  const accessClock = await steadyClock(clock, store);
  return { clock, accessClock, log, tls, readiness, store, unsettled, tracer, opened };
}

function openTls(files: TlsFiles, log: Log): Promise<TlsPair> {
  return TlsPair.open(files, {
    onTaken: () => log.info(files, 'loaded the new certificate'),
    onRefused: (error) => log.error(files, `the certificate in use stays: ${error.message}`),
  });
}

/** Loads the tracing libraries only if tracing is configured. */
async function openTracer({ tracing: { endpoint, sampleRatio } }: Config): Promise<Tracer | undefined> {
  if (endpoint === undefined) return undefined;
  const { createTraces } = await import('../telemetry/traces.ts');
  return createTraces({ endpoint, sampleRatio, version });
}

/** Sends the last traces. An unreachable collector must not make the stop fail. */
async function endTraces(tracer: Tracer, log: Log): Promise<void> {
  try {
    await tracer.close();
  } catch (error) {
    log.warn({ err: error }, 'the last traces could not be sent');
  }
}

interface DataDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: StoreObserver;
  readonly openStore?: OpenStore | undefined;
}

/** Opens the store of a data folder, instead of the configured one. */
export type OpenStore = (
  dataDir: string,
  options: { readonly observer: StoreObserver; readonly waitMs: number },
) => Promise<Store>;

/** How long to wait for the folder, which a command or a closing server may own for a moment. */
const waitMs = 2_000;

/**
 * Also releases requests left open by a dead process, and starts to remove old records if configured.
 * @param opened collects resources to close, in reverse order
 * @throws DataInUseError if another process owns the database
 */
async function openData(
  config: Config,
  { clock, log, observer, openStore }: DataDeps,
  opened: AsyncDisposableStack,
): Promise<Store> {
  const options = { observer, waitMs };
  const store = openStore
    ? await openStore(config.dataDir, options)
    : await openConfigured(config, { clock, log }, options);
  opened.defer(() => store.close());
  const interrupted = await store.requests.recover(clock.now());
  if (interrupted > 0) log.warn({ interrupted }, 'released requests left open by an earlier run');
  const retention = new Retention({ usage: store.usage, audit: store.audit, clock, log }, config.retention);
  opened.defer(() => retention.close());
  return store;
}

async function openConfigured(
  { dataDir, store: { kind, connectionsMax }, storeUrl }: Config,
  { clock, log }: Pick<DataDeps, 'clock' | 'log'>,
  { observer, waitMs }: Parameters<OpenStore>[1],
): Promise<Store> {
  const warn = (findings: readonly Diagnostic[]) => {
    for (const { state, found, advice } of findings) if (state !== 'ok') log.warn({ advice }, found);
  };
  if (kind === 'sqlite') {
    if (existsSync(dataDir)) warn([privacy(dataDir)]);
    if (existsSync(join(dataDir, databaseName))) warn(diagnoseLog(privateFile(dataDir, databaseName)));
    return openSqliteStore(dataDir, { observer, waitMs });
  }
  if (storeUrl === undefined) throw new Error('there is no URL of the database');
  // The folder has the server's address and the keys of its first start.
  makeFolder(dataDir, 0o700);
  warn([privacy(dataDir)]);
  // Loaded only here, as most servers need no PostgreSQL driver.
  const { openPostgresStore } = await import('../store/postgres/open-store.ts');
  const { diagnosePoolerAt } = await import('../store/postgres/diagnostics.ts');
  const url = storeUrl.reveal();
  const now = () => clock.now();
  const store = await openPostgresStore({ url, connectionsMax, observer, version, now });
  warn(await diagnosePoolerAt(url));
  return store;
}
