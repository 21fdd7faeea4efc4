/** Speech relayed to an upstream's Realtime API while it is spoken. */
import {
  joinSamples,
  type LiveSpeaker,
  type LiveText,
  type LiveTurn,
  type LiveTurnOptions,
  liveSampleRate,
  type Samples,
} from '../../../core/entities/live.ts';
import { ParleyError } from '../../../core/values/errors.ts';
import { openUpstreamEncoder, type UpstreamEncoder } from '../../../media/raw-audio.ts';
import { KeptSpeech } from '../../kept-speech.ts';
import { timeUp } from '../errors.ts';
import type { UpstreamModel } from '../settings.ts';
import { Connection, type RelayedTurn } from './connection.ts';
import type { UpstreamTurnEvent } from './events.ts';

/** Audio is sent in messages of this length, and no turn is shorter, as OpenAI's API refuses those. */
const messageSamples = 0.1 * liveSampleRate;
const retryAfterSeconds = 5;

/** Connects before the first turn. After the connection is lost, or was idle, the next turn opens another one. */
export class RelaySpeaker implements LiveSpeaker {
  readonly #model: UpstreamModel;
  #connection: Connection;

  constructor(model: UpstreamModel) {
    this.#model = model;
    this.#connection = new Connection(model);
  }

  listen(options: LiveTurnOptions): LiveTurn {
    if (this.#connection.isClosed) this.#connection = new Connection(this.#model);
    return new RelayTurn(this.#connection, options, this.#model);
  }

  close(): void {
    this.#connection.close();
  }
}

class RelayTurn implements LiveTurn, RelayedTurn {
  readonly #connection: Connection;
  readonly #options: LiveTurnOptions;
  readonly #model: UpstreamModel;
  readonly #kept: KeptSpeech;
  readonly #text = Promise.withResolvers<LiveText>();
  #waiting: Samples[] = [];
  #waitingSamples = 0;
  #samples = 0;
  #partial = '';
  #encoder: UpstreamEncoder | undefined;
  #isLast = false;
  #isOver = false;
  #idle: NodeJS.Timeout | undefined;
  #total: NodeJS.Timeout | undefined;

  constructor(connection: Connection, options: LiveTurnOptions, model: UpstreamModel) {
    this.#connection = connection;
    this.#options = options;
    this.#model = model;
    this.#kept = new KeptSpeech(options.signal.owner);
    // `onFailure` reports a failure, which is also thrown where the text is awaited.
    this.#text.promise.catch(() => undefined);
    connection.add(this);
  }

  add(samples: Samples): void {
    if (this.#isOver) return;
    if (!this.#kept.add(samples.byteLength)) {
      this.#overloaded();
      return;
    }
    this.#waiting.push(samples);
    this.#waitingSamples += samples.length;
    if (this.#waitingSamples >= messageSamples) this.#send();
  }

  finish(): Promise<LiveText> {
    this.#isLast = true;
    const { totalMs } = this.#model.settings;
    if (!this.#isOver) this.#total = setTimeout(() => this.#giveUp(timeUp(totalMs)), totalMs);
    this.#send();
    return this.#text.promise;
  }

  drop(): void {
    this.#giveUp(new ParleyError('request_cancelled'), false);
  }

  ready(): void {
    this.#connection.speak(this.#options.language);
    this.#encoder = openUpstreamEncoder(this.#model.settings.realtimeFormat);
    this.#send();
  }

  handle(event: UpstreamTurnEvent): void {
    if (this.#isOver) return;
    if (this.#isLast) this.#waitFor('idle', this.#model.settings.idleMs);
    if (event.kind === 'delta') {
      this.#partial += event.text;
      this.#options.onPartial(this.#partial.trim());
    }
    if (event.kind !== 'completed') return;
    this.#text.resolve({ text: event.text.trim(), words: [] });
    this.#end();
  }

  fail(error: ParleyError): void {
    if (this.#isOver) return;
    this.#text.reject(error);
    this.#end();
    this.#options.onFailure(error);
  }

  #send(): void {
    if (this.#encoder === undefined || this.#isOver) return;
    const silence = this.#isLast ? Math.max(0, messageSamples - this.#samples - this.#waitingSamples) : 0;
    const samples = joinSamples([...this.#waiting, new Int16Array(silence)]);
    this.#waiting = [];
    this.#waitingSamples = 0;
    this.#samples += samples.length;
    this.#kept.remove((samples.length - silence) * samples.BYTES_PER_ELEMENT);
    for (let at = 0; at < samples.length; at += liveSampleRate) {
      this.#append(this.#encoder.encode(samples.subarray(at, at + liveSampleRate)));
    }
    if (!this.#isLast || this.#isOver) return;
    this.#append(this.#encoder.finish());
    this.#encoder = undefined;
    this.#waitFor('late', this.#model.settings.firstByteMs);
    this.#connection.commit(this);
  }

  /** Bytes that a slow upstream does not take are counted until they have left. */
  #append(audio: Uint8Array): void {
    if (audio.length === 0 || this.#isOver) return;
    const base64 = Buffer.from(audio.buffer, audio.byteOffset, audio.byteLength).toString('base64');
    if (this.#kept.add(base64.length)) {
      this.#connection.append(base64, () => this.#kept.remove(base64.length));
    } else this.#overloaded();
  }

  #waitFor(stage: 'late' | 'idle', ms: number): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#connection.late(stage, ms), ms);
  }

  #overloaded(): void {
    this.#giveUp(new ParleyError('overloaded', { retryAfterSeconds }));
  }

  #giveUp(error: ParleyError, isReported = true): void {
    if (this.#isOver) return;
    this.#connection.drop(this);
    this.#text.reject(error);
    this.#end();
    if (isReported) this.#options.onFailure(error);
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#idle);
    clearTimeout(this.#total);
    this.#kept.remove(this.#waitingSamples * Int16Array.BYTES_PER_ELEMENT);
    this.#waiting = [];
    this.#waitingSamples = 0;
  }
}
