import type { Availability } from '../../../core/entities/engine.ts';
import { ParleyError } from '../../../core/values/errors.ts';
import { briefError } from '../../../core/values/failure-log.ts';
import type { Log } from '../../../core/values/log.ts';
import type { Upstream } from '../calls/upstream.ts';
import { readContextTokens } from './context-tokens.ts';

/** The wait before the second reading while the context is unknown; it doubles each time, up to `everyMs`. */
const firstWaitMs = 1_000;
/** The wait between two readings once the context is known. */
const everyMs = 300_000;

export interface ContextSourceOptions {
  readonly upstream: Upstream;
  /** The upstream's name of the model. */
  readonly model: string;
  /** The id of the model in the catalog. */
  readonly id: string;
  /** The engine's name in the configuration. */
  readonly engine: string;
  readonly log: Log;
}

/**
 * Why a model's context is unknown, with advice.
 * @param error undefined if the upstream was read and does not report it
 */
export function noContextReason(engine: string, id: string, error: unknown): string {
  const found =
    error === undefined
      ? `The server of the engine ${engine} does not report the context of this model.`
      : `The server of the engine ${engine} could not be asked for the context of this model.`;
  return `${found} Write \`contextTokens\` of the model ${id} in parley.yaml.`;
}

/**
 * The context of a model without `contextTokens`, read from its upstream at once and then regularly in the background.
 * Until it is known no hold can be made, so the model is unavailable. After a failed reading the last value stays.
 * Failures in a row are logged once.
 */
export class ContextSource {
  readonly #options: ContextSourceOptions;
  readonly #closing = new AbortController();
  #tokens: number | undefined;
  #reason = 'The context of this model is still being read. Try again in a moment.';
  #hasFailed = false;
  #waitMs = firstWaitMs;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ContextSourceOptions) {
    this.#options = options;
    void this.#refresh();
  }

  get tokens(): number | undefined {
    return this.#tokens;
  }

  availability(): Availability {
    if (this.#tokens !== undefined) return { available: true };
    return { available: false, reason: this.#reason, isPending: !this.#hasFailed };
  }

  close(): void {
    this.#closing.abort(new ParleyError('request_cancelled'));
    clearTimeout(this.#timer);
  }

  /** Reads the context and schedules the next reading. Never rejects. */
  async #refresh(): Promise<void> {
    const { upstream, model } = this.#options;
    const { signal } = this.#closing;
    try {
      const tokens = await readContextTokens(upstream, model, signal);
      if (tokens === undefined) this.#fail(undefined);
      else this.#hasFailed = false;
      this.#tokens = tokens ?? this.#tokens;
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
    if (signal.aborted) return;
    const waitMs = this.#tokens === undefined ? Math.min(this.#waitMs, everyMs) : everyMs;
    this.#waitMs *= 2;
    this.#timer = setTimeout(() => void this.#refresh(), waitMs).unref();
  }

  #fail(error: unknown): void {
    const { engine, id, log } = this.#options;
    this.#reason = noContextReason(engine, id, error);
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const cause = error instanceof ParleyError ? (error.cause ?? error) : error;
    log.warn({ engine, model: id, ...(cause !== undefined && { err: briefError(cause) }) }, this.#reason);
  }
}
