/** Speech that waits for an engine, and its memory, counted over all sessions. */
import type { LiveText, LiveTurn, LiveTurnOptions, Samples } from '../core/entities/live.ts';
import { ParleyError } from '../core/values/errors.ts';
import { OwnSignal } from '../core/values/signal.ts';

/** Bytes of all accounts together: about an hour of speech. One account may have a quarter. */
const bytesMax = 128 * 1024 ** 2;
const bytesOfAccountMax = bytesMax / 4;

const bytesByAccount = new Map<string, number>();
let allBytes = 0;

/** The part of one turn. */
export class KeptSpeech {
  readonly #account: string;
  #bytes = 0;

  constructor(account: string | undefined) {
    this.#account = account ?? '';
  }

  /** @returns whether there is room; else nothing is counted */
  add(bytes: number): boolean {
    const own = bytesByAccount.get(this.#account) ?? 0;
    if (allBytes + bytes > bytesMax || own + bytes > bytesOfAccountMax) return false;
    this.#count(bytes);
    return true;
  }

  /** @param bytes Default: all */
  remove(bytes = this.#bytes): void {
    this.#count(-bytes);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    allBytes += bytes;
    const own = (bytesByAccount.get(this.#account) ?? 0) + bytes;
    if (own > 0) bytesByAccount.set(this.#account, own);
    else bytesByAccount.delete(this.#account);
  }
}

const retryAfterSeconds = 5;

/** A turn that is recognised whole at its end. */
export abstract class KeptTurn implements LiveTurn {
  protected readonly options: LiveTurnOptions;
  /** Aborts with the session, and when the turn is dropped. */
  protected readonly stop = new OwnSignal();
  protected parts: Samples[] = [];
  protected isOver = false;
  readonly #kept: KeptSpeech;

  constructor(options: LiveTurnOptions) {
    this.options = options;
    this.stop.owner = options.signal.owner;
    this.#kept = new KeptSpeech(options.signal.owner);
  }

  add(samples: Samples): void {
    if (this.isOver) return;
    if (this.#kept.add(samples.byteLength)) this.parts.push(samples);
    else this.options.onFailure(this.#endWith(new ParleyError('overloaded', { retryAfterSeconds })));
  }

  async finish(): Promise<LiveText> {
    const { signal } = this.options;
    const stop = () => this.stop.abort(signal.reason);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    try {
      return await this.recognise();
    } finally {
      signal.removeEventListener('abort', stop);
      this.end();
    }
  }

  drop(): void {
    this.#endWith(new ParleyError('request_cancelled'));
  }

  /** Recognises the speech so far, until `stop` aborts. */
  protected abstract recognise(): Promise<LiveText>;

  protected end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.parts = [];
    this.#kept.remove();
  }

  #endWith(error: ParleyError): ParleyError {
    this.stop.abort(error);
    this.end();
    return error;
  }
}
