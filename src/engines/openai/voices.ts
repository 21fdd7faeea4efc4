import { ParleyError } from '../../core/errors.ts';
import { briefError } from '../../core/failure-log.ts';
import type { Availability, VoiceList } from '../../core/ports/engines.ts';
import type { Log } from '../../core/ports/log.ts';
import type { Upstream } from './upstream.ts';
import { readVoiceList } from './voice-list.ts';

const listBytesMax = 4 * 1024 * 1024;
/** While no voice is known it is asked again after this time, then after twice that, and so on up to the usual time. */
const firstWaitMs = 1_000;
/** Answers that say nothing of whether there is a list, but that it cannot be had now. */
const passingStatuses: readonly number[] = [401, 403, 408, 425, 429];

/** Where a speech model has its voices from. */
export interface VoiceSource {
  /** Unavailable while no voice is known: without one nothing can be said. */
  availability(): Availability;
  /** @throws `engine_unavailable` while no voice is known */
  list(): VoiceList;
  close(): void;
}

/** Voices that the operator has written down, each with its language. At least one. */
export function configuredVoices(languages: Readonly<Record<string, string>>): VoiceSource {
  const voices = Object.entries(languages).map(([id, language]) => ({ id, language }));
  const list = { voices, defaultVoice: voices[0]?.id ?? '' };
  return { availability: () => ({ available: true }), list: () => list, close: () => undefined };
}

export interface ListedVoicesOptions {
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
 * The voices that an upstream lists for a model, read at once and again from time to time in the background. While it cannot
 * be read, the last list stays; the log is told once.
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

  /** Sets the next reading only when it is done, so that no two run at once. Never rejects. */
  async #refresh(): Promise<void> {
    try {
      const list = await this.#read();
      if (list) this.#keep(list);
      else this.#fail(`lists no voices for this model. Write them in parley.yaml under ${this.#setting}.`);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#fail(
        `could not be asked for its voices. Check that it runs and takes the key, or write them under ${this.#setting}.`,
        error,
      );
    }
    if (this.#closing.signal.aborted) return;
    const { everyMs } = this.#options;
    const waitMs = this.#list ? everyMs : Math.min(this.#waitMs, everyMs);
    this.#waitMs *= 2;
    this.#timer = setTimeout(() => void this.#refresh(), waitMs).unref();
  }

  get #setting(): string {
    return `engines.${this.#options.engine}.voices`;
  }

  #keep(list: VoiceList): void {
    this.#list = list;
    this.#hasFailed = false;
  }

  #fail(what: string, error?: unknown): void {
    const { engine, model, log } = this.#options;
    this.#reason = `The server of the engine ${engine} ${what}`;
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const cause = error instanceof ParleyError ? (error.cause ?? error) : error;
    log.warn({ engine, model, ...(cause !== undefined && { err: briefError(cause) }) }, this.#reason);
  }

  /** Asks for what the model itself tells first: servers with several models list the voices of all of them elsewhere. */
  async #read(): Promise<VoiceList | undefined> {
    const { model } = this.#options;
    const query = encodeURIComponent(model);
    const paths = [
      `/models/${model.split('/').map(encodeURIComponent).join('/')}`,
      `/audio/voices?model=${query}`,
      `/audio/speech/voices?model_id=${query}`,
    ];
    for (const path of paths) {
      const list = await this.#readAt(path);
      if (list) return list;
    }
    return undefined;
  }

  /** Undefined where there is no list at this path. */
  async #readAt(path: string): Promise<VoiceList | undefined> {
    const { upstream, model } = this.#options;
    try {
      const { signal } = this.#closing;
      const answer = await upstream.call({
        method: 'GET',
        path,
        headers: { accept: 'application/json' },
        signal,
      });
      // Some servers answer every path with a page for people.
      if (answer.contentType.startsWith('text/')) {
        answer.body.release();
        return undefined;
      }
      return readVoiceList(await answer.json(listBytesMax), model);
    } catch (error) {
      if (isNotThere(error)) return undefined;
      throw error;
    }
  }
}

function isNotThere(error: unknown): boolean {
  if (!(error instanceof ParleyError)) return false;
  const { httpStatus } = error;
  return (
    (httpStatus >= 400 && httpStatus < 500 && !passingStatuses.includes(httpStatus)) || httpStatus === 501
  );
}
