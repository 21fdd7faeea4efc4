import type {
  EndedEngineRequest,
  EngineFailure,
  EngineOutcome,
  EngineRequests,
} from '../../core/entities/server.ts';
import type { Clock } from '../../core/values/clock.ts';
import { type ParleyError, toParleyError } from '../../core/values/errors.ts';
import { briefError } from '../../core/values/log.ts';
import type { EngineAttempt } from '../../core/values/signal.ts';

/** An upstream answers these where something in the request is wrong. Others, such as 401 or 429, are for the operator. */
const requestStatuses: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);
const reasonCharactersMax = 300;

interface EngineCountsDeps {
  readonly engine: string;
  readonly clock: Clock;
  /** Runs within each request, so it must be fast and must not throw. */
  readonly onEnd: (ended: EndedEngineRequest) => void;
}

/** The requests of all models to one engine. */
export class EngineCounts {
  readonly #deps: EngineCountsDeps;
  readonly #recent = new RecentEnds();
  #running = 0;
  #lastFailure: EngineFailure | undefined;

  readonly #end = (ended: EndedAttempt): void => {
    const { clock, onEnd } = this.#deps;
    const { model, outcome, firstOutputMs, error } = ended;
    const hasFailed = outcome === 'failed';
    this.#running--;
    this.#recent.add({ atMs: performance.now(), hasFailed, firstOutputMs });
    if (hasFailed && error) {
      this.#lastFailure = { atMs: clock.now(), model, code: error.code, reason: reasonOf(error) };
    }
    onEnd(ended);
  };

  constructor(deps: EngineCountsDeps) {
    this.#deps = deps;
  }

  get running(): number {
    return this.#running;
  }

  /** @param attempts takes the request, for its record */
  begin(model: string, attempts?: EngineAttempt[]): Attempt {
    this.#running++;
    const attempt = new Attempt(this.#deps.engine, model, this.#end);
    attempts?.push(attempt);
    return attempt;
  }

  state(): EngineRequests {
    return {
      running: this.#running,
      ...this.#recent.summary(performance.now()),
      lastFailure: this.#lastFailure,
    };
  }
}

interface EndedAttempt extends EndedEngineRequest {
  readonly error: ParleyError | undefined;
}

/** A request on one engine. The first of its ends counts. */
export class Attempt implements EngineAttempt {
  readonly engine: string;
  readonly model: string;
  firstOutputMs: number | undefined;
  durationMs: number | undefined;
  error: ParleyError | undefined;
  readonly #onEnd: (ended: EndedAttempt) => void;
  #startedMs = performance.now();

  constructor(engine: string, model: string, onEnd: (ended: EndedAttempt) => void) {
    this.engine = engine;
    this.model = model;
    this.#onEnd = onEnd;
  }

  /** The speech of a turn has ended: the times of its text begin now. */
  noteWholeSpeech(): void {
    this.#startedMs = performance.now();
  }

  noteOutput(): void {
    this.firstOutputMs ??= performance.now() - this.#startedMs;
  }

  succeed(): void {
    this.noteOutput();
    this.#end('ok');
  }

  fail(thrown: unknown): void {
    const error = toParleyError(thrown);
    this.#end(outcomeOf(error), error);
  }

  /** The answer is not wanted any more. */
  cancel(): void {
    this.#end('cancelled');
  }

  #end(outcome: EngineOutcome, error?: ParleyError): void {
    if (this.durationMs !== undefined) return;
    this.durationMs = performance.now() - this.#startedMs;
    this.error = error;
    const { engine, model, firstOutputMs, durationMs } = this;
    this.#onEnd({ engine, model, outcome, firstOutputMs, durationMs, error });
  }
}

function outcomeOf(error: ParleyError): EngineOutcome {
  if (error.code === 'request_cancelled') return 'cancelled';
  if (error.code === 'upstream_error') return requestStatuses.has(error.httpStatus) ? 'refused' : 'failed';
  return error.isRefusal ? 'refused' : 'failed';
}

/** The cause of an upstream's failure has no words of a request. Causes of other errors may have some. */
function reasonOf(error: ParleyError): string {
  const { message, cause } = error;
  const isForeign = error.code === 'upstream_error' && cause !== undefined;
  return (isForeign ? briefError(cause).message : message).slice(0, reasonCharactersMax);
}

/** Ends of requests count for so long. */
const recentMs = 300_000;
const endsMax = 512;

interface End {
  readonly atMs: number;
  readonly hasFailed: boolean;
  readonly firstOutputMs: number | undefined;
}

/** The requests that ended within the last 5 minutes, at most the last 512. */
export class RecentEnds {
  readonly #ends: End[] = [];
  /** Where the next end goes once there are as many as are kept. */
  #next = 0;

  add(end: End): void {
    this.#ends[this.#next] = end;
    this.#next = (this.#next + 1) % endsMax;
  }

  /** @param nowMs by the clock of the ends */
  summary(nowMs: number) {
    const recent = this.#ends.filter(({ atMs }) => atMs > nowMs - recentMs);
    const times = recent
      .flatMap(({ firstOutputMs }) => firstOutputMs ?? [])
      .sort((one, other) => one - other);
    const median = quantile(times, 0.5);
    const p95 = quantile(times, 0.95);
    return {
      ended: recent.length,
      failed: recent.filter(({ hasFailed }) => hasFailed).length,
      firstOutputMs: median === undefined || p95 === undefined ? undefined : { median, p95 },
    };
  }
}

/** The smallest of the sorted values that is not exceeded by this share of them. */
function quantile(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.ceil(sorted.length * share) - 1];
}
