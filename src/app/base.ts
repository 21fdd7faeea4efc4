/** The parts of the server on which all others stand: its log, certificate, clocks, store and tracer. */
import type { Config } from '../config/config.ts';
import { steadyClock } from '../core/access/steady-clock.ts';
import { Unsettled } from '../core/billing/unsettled.ts';
import type { Store } from '../core/entities/store.ts';
import { noTracer, type Tracer } from '../core/entities/tracer.ts';
import { type Clock, systemClock } from '../core/values/clock.ts';
import type { Log } from '../core/values/log.ts';
import { type TlsFiles, TlsPair } from '../transports/http/tls-pair.ts';
import { type OpenStore, openData } from './data.ts';
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
  readonly tracer: Tracer;
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
  opened.defer(() => endTraces(tracer, log));
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
async function openTracer({ tracing: { endpoint, sampleRatio } }: Config): Promise<Tracer> {
  if (endpoint === undefined) return noTracer;
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
