/** The models that can be called: their engines, the catalog, and the metrics of both. */
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { Config } from '../config/config.ts';
import { Catalog } from '../core/catalog/catalog.ts';
import type { TokenCounter } from '../core/entities/engine.ts';
import type { EngineSet } from '../engines/engine-set.ts';
import { Supervisor } from '../supervisor/supervisor.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';
import { createTokenCounter } from '../tokens/counter.ts';
import { ByteBudget, type ByteLimits } from '../transports/byte-budget.ts';
import type { Base } from './base.ts';
import { Engines } from './engines.ts';
import { programSurroundings } from './local-programs.ts';
import { logLinesLost } from './log-output.ts';
import { version } from './version.ts';

export interface OfferOverrides {
  /** Engines by configured name, which replace the configured ones. */
  readonly engines?: Readonly<Record<string, EngineSet>>;
  /** The caller closes it. Default: the server opens and closes its own. */
  readonly tokens?: TokenCounter;
}

export interface Offer {
  readonly tokens: TokenCounter;
  readonly engines: Engines;
  readonly catalog: Catalog;
  readonly metrics: Metrics;
  /** Bounds the bytes of requests that are in memory. */
  readonly bytes: ByteBudget;
}

export async function openOffer(config: Config, base: Base, overrides: OfferOverrides): Promise<Offer> {
  const { clock, log, tracer, readiness, opened } = base;
  const tokens = overrides.tokens ?? opened.adopt(createTokenCounter(), (counter) => counter.close());
  const supervisor = new Supervisor({ log, ...programSurroundings(config) });
  const bytes = new ByteBudget(byteLimits(config.limits));
  const metrics = createMetrics({
    version,
    bufferedBytes: () => bytes.bytes,
    logLinesLost,
    isReady: () => readiness.whyNot() === undefined,
    isModel: (id) => catalog.find(id) !== undefined,
    engines: () => engines.readings(),
  });
  const replaced = overrides.engines && { engines: overrides.engines };
  const engines = new Engines({ clock, tokens, log, tracer, supervisor, metrics, ...replaced });
  opened.defer(() => engines.close());
  const catalog = new Catalog(await engines.use(config), config.realtime);
  return { tokens, engines, catalog, metrics, bytes };
}

/** Share of the memory. Parsed requests are larger than their bytes, and the rest of the program needs memory as well. */
const partOfMemory = 1 / 4;
const partOfAddress = 1 / 4;
/** Minimum, enough for a few of the largest requests on any machine. */
const bytesMin = 64 * 1_048_576;

/** The limits of request bodies in memory, with defaults that fit this process. */
function byteLimits({
  bufferedBytesMax,
  bufferedBytesPerAddressMax,
  bufferWaitMsMax,
}: Config['limits']): ByteLimits {
  const bytesMax = bufferedBytesMax ?? atLeast(bytesMin, usableBytes() * partOfMemory);
  const ofAddress = bufferedBytesPerAddressMax ?? atLeast(bytesMin, bytesMax * partOfAddress);
  return { bytesMax, bytesPerAddressMax: Math.min(bytesMax, ofAddress), waitMsMax: bufferWaitMsMax };
}

/** Memory that the process may use: the smallest of machine, cgroup and V8's heap. */
function usableBytes(): number {
  // 0, or more than the machine has, if there is no such limit.
  const constrained = process.constrainedMemory() || Infinity;
  return Math.min(totalmem(), constrained, getHeapStatistics().heap_size_limit);
}

function atLeast(least: number, bytes: number): number {
  return Math.max(least, Math.floor(bytes));
}
