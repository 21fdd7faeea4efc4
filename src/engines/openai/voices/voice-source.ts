import type { Availability, VoiceList } from '../../../core/entities/engine.ts';
import { ParleyError } from '../../../core/values/errors.ts';
import { briefError } from '../../../core/values/failure-log.ts';
import type { Log } from '../../../core/values/log.ts';
import type { Signal } from '../../../core/values/signal.ts';
import type { Upstream } from '../calls/upstream.ts';
import { readVoiceList } from './voice-list.ts';

const listBytesMax = 4 * 1024 * 1024;
/** The wait before the second reading while no voice is known; it doubles each time, up to `everyMs`. */
const firstWaitMs = 1_000;
/** Statuses that say nothing about whether there is a list. */
const inconclusiveStatuses: readonly number[] = [401, 403, 408, 425, 429];

/** The voices of a speech model. */
export interface VoiceSource {
  /** Unavailable while no voice is known. */
  availability(): Availability;
  /** @throws `engine_unavailable` while no voice is known */
  list(): VoiceList;
  close(): void;
}

/** At least one voice from the configuration, each with its language. */
export function configuredVoices(languages: Readonly<Record<string, string>>): VoiceSource {
  const voices = Object.entries(languages).map(([id, language]) => ({ id, language }));
  const list = { voices, defaultVoice: voices[0]?.id ?? '' };
  return { availability: () => ({ available: true }), list: () => list, close: () => undefined };
}

/**
 * Reads the voices that an upstream lists for a model. Asks for the model's own list first, as other lists may cover
 * all models. Undefined if there is none.
 *
 * @param model the upstream's name of the model
 * @throws `upstream_error`, or the signal's reason
 */
export async function readListedVoices(
  upstream: Upstream,
  model: string,
  signal: Signal,
): Promise<VoiceList | undefined> {
  const query = encodeURIComponent(model);
  const paths = [
    `/models/${model.split('/').map(encodeURIComponent).join('/')}`,
    `/audio/voices?model=${query}`,
    `/audio/speech/voices?model_id=${query}`,
  ];
  for (const path of paths) {
    try {
      const headers = { accept: 'application/json' };
      const answer = await upstream.call({ method: 'GET', path, headers, signal });
      // Some servers answer every path with an HTML page.
      if (answer.contentType.startsWith('text/')) {
        answer.close();
        continue;
      }
      const list = readVoiceList(await answer.json(listBytesMax), model);
      if (list) return list;
    } catch (error) {
      if (!isNotThere(error)) throw error;
    }
  }
  return undefined;
}

function isNotThere(error: unknown): boolean {
  if (!(error instanceof ParleyError)) return false;
  const { httpStatus } = error;
  return (
    (httpStatus >= 400 && httpStatus < 500 && !inconclusiveStatuses.includes(httpStatus)) ||
    httpStatus === 501
  );
}

/**
 * Why no voices are known, with advice.
 * @param error undefined if the upstream answered without a list
 */
export function noVoicesReason(engine: string, error: unknown): string {
  const setting = `engines.${engine}.voices`;
  return error === undefined
    ? `The server of the engine ${engine} lists no voices for this model. Write them in parley.yaml under ${setting}.`
    : `The server of the engine ${engine} could not be asked for its voices. Check that it runs and takes the key, or write them under ${setting}.`;
}

interface ListedVoicesOptions {
  readonly upstream: Upstream;
  /** The upstream's name of the model. */
  readonly model: string;
  /** The engine's name in the configuration. */
  readonly engine: string;
  /** Milliseconds between two readings. */
  readonly everyMs: number;
  readonly log: Log;
}

/**
 * The voices that an upstream lists for a model, read at once and then regularly in the background. After a failed
 * reading the last list stays. Failures in a row are logged once.
 */
export class ListedVoices implements VoiceSource {
  readonly #options: ListedVoicesOptions;
  readonly #closing = new AbortController();
  #list: VoiceList | undefined;
  #reason = 'The voices of this model are still being read. Try again in a moment.';
  #hasFailed = false;
  #waitMs = firstWaitMs;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ListedVoicesOptions) {
    this.#options = options;
    void this.#refresh();
  }

  availability(): Availability {
    if (this.#list) return { available: true };
    return { available: false, reason: this.#reason, isPending: !this.#hasFailed };
  }

  list(): VoiceList {
    if (this.#list) return this.#list;
    throw new ParleyError('engine_unavailable', { message: this.#reason });
  }

  close(): void {
    this.#closing.abort(new ParleyError('request_cancelled'));
    clearTimeout(this.#timer);
  }

  /** Reads the list and schedules the next reading. Never rejects. */
  async #refresh(): Promise<void> {
    const { upstream, model, everyMs } = this.#options;
    const { signal } = this.#closing;
    try {
      const list = await readListedVoices(upstream, model, signal);
      this.#list = list ?? this.#list;
      if (list) this.#hasFailed = false;
      else this.#fail(undefined);
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
    if (signal.aborted) return;
    const waitMs = this.#list ? everyMs : Math.min(this.#waitMs, everyMs);
    this.#waitMs *= 2;
    this.#timer = setTimeout(() => void this.#refresh(), waitMs).unref();
  }

  #fail(error: unknown): void {
    const { engine, model, log } = this.#options;
    this.#reason = noVoicesReason(engine, error);
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const cause = error instanceof ParleyError ? (error.cause ?? error) : error;
    log.warn({ engine, model, ...(cause !== undefined && { err: briefError(cause) }) }, this.#reason);
  }
}
