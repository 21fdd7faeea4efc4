/** One turn of a session: a separate request with its recogniser. */
import type { Call, Turns } from '../access/call.ts';
import { type FairUseRules, transcriptionUnits, unitsPerMonth } from '../billing/fair-use.ts';
import { type LiveText, type LiveTurn, liveSampleRate, type Samples } from '../entities/live.ts';
import type { TraceSpan } from '../entities/tracer.ts';
import { ParleyError, toParleyError } from '../values/errors.ts';
import type { RequestId } from '../values/ids.ts';
import type { EngineAttempt } from '../values/signal.ts';

export interface TurnDeps {
  readonly turns: Turns;
  /** The model's id. */
  readonly model: string;
  readonly fairUse: FairUseRules;
  /** The turn's part of the trace; undefined if nothing is traced. */
  readonly span: TraceSpan | undefined;
}

/** The whole window in milliseconds, or near the end of an allowance the part of it that may be covered. */
const smallerWindowsMs = [3_000, 1_000];
const limitCodes: ReadonlySet<string> = new Set(['fair_use_limit_reached', 'rate_limit_exceeded']);

/** A turn with its text and a settled record. */
export interface TranscribedTurn {
  /** The id of the turn's record. */
  readonly id: RequestId;
  readonly transcript: LiveText;
  /** Milliseconds from the session's first sample. */
  readonly startMs: number;
  readonly durationMs: number;
}

export class Turn {
  readonly number: number;
  /** Milliseconds of the session before the turn's first sample. */
  readonly startMs: number;
  /** The last reported text. */
  hypothesis = '';
  /** The engines that hear the turn. */
  readonly attempts: EngineAttempt[] = [];
  readonly #deps: TurnDeps;
  readonly #stable = new StableWords();
  #live: LiveTurn | undefined;
  #samples = 0;
  #reservedMs = 0;
  #call: Call | undefined;
  /** The operations on the turn's record, one after the other. */
  #work: Promise<unknown> = Promise.resolve();
  #text: LiveText | undefined;

  constructor(number: number, startMs: number, deps: TurnDeps) {
    this.number = number;
    this.startMs = startMs;
    this.#deps = deps;
  }

  /** Undefined until the gate has opened the turn's request. */
  get id(): RequestId | undefined {
    return this.#call?.id;
  }

  get #audioMs(): number {
    return Math.round((this.#samples * 1000) / liveSampleRate);
  }

  listen(live: LiveTurn): void {
    this.#live = live;
  }

  add(samples: Samples): void {
    this.#samples += samples.length;
    this.#live?.add(samples);
  }

  /**
   * Reserves audio up to `ms`, or less if the allowance ends before. The first call asks the gate; later calls check the
   * key again.
   * @returns the milliseconds that are reserved
   * @throws the errors of the gate, `fair_use_limit_reached`, `rate_limit_exceeded`
   */
  reserve(ms: number): Promise<number> {
    return this.#then(async () => {
      const { turns } = this.#deps;
      if (this.#call === undefined) this.#call = await turns.open();
      else await turns.checkAgain();
      const { metering } = this.#call;
      metering.attempts = this.attempts;
      const sizes = [
        ms,
        ...smallerWindowsMs.map((size) => this.#reservedMs + size).filter((size) => size < ms),
      ];
      for (const [at, size] of sizes.entries()) {
        try {
          await this.#reserveUpTo(this.#call, size);
          this.#reservedMs = size;
          return size;
        } catch (error) {
          const isLast = at === sizes.length - 1;
          if (!isLast && limitCodes.has(toParleyError(error).code)) continue;
          if (this.#reservedMs === 0) await metering.void(error);
          throw error;
        }
      }
      return this.#reservedMs;
    });
  }

  /** The text so far, and the number of its words that will not change. */
  partial(): Promise<{ readonly text: string; readonly stableWords: number }> {
    const text = this.hypothesis;
    return this.#then(async () => {
      await this.#call?.metering.beginOutput();
      return { text, stableWords: this.#stable.add(text) };
    });
  }

  /** Resolves when the rest of the turn is recognised. */
  async transcribe(): Promise<void> {
    if (this.#live === undefined) throw new ParleyError('internal_error');
    const endedAtMs = performance.now();
    this.#text = await this.#live.finish();
    this.#deps.turns.noteRecognised(performance.now() - endedAtMs);
  }

  /** Settles the turn for its recognised audio. Its text may leave then. */
  complete(): Promise<TranscribedTurn> {
    return this.#then(async () => {
      const [call, transcript] = [this.#call, this.#text];
      if (call === undefined || transcript === undefined) throw new ParleyError('internal_error');
      try {
        await this.#keepUsed();
        await call.metering.beginOutput();
        await call.metering.settle();
      } catch (error) {
        await call.metering.void(error);
        throw error;
      }
      return { id: call.id, transcript, startMs: this.startMs, durationMs: this.#audioMs };
    }).finally(() => this.#deps.span?.end());
  }

  /** Returns the recogniser and voids the record. */
  fail(error: ParleyError): Promise<void> {
    this.#live?.drop();
    return this.#then(async () => {
      if (this.#call === undefined) return;
      await this.#keepUsed().catch(() => undefined);
      await this.#call.metering.void(error);
    }).finally(() => this.#deps.span?.end(error));
  }

  async #reserveUpTo({ metering, caller }: Call, ms: number): Promise<void> {
    const { fairUse, model } = this.#deps;
    const units = transcriptionUnits(fairUse, ms);
    const audioSeconds = Math.ceil(ms / 1000);
    if (this.#reservedMs > 0) return metering.extend(units, audioSeconds);
    metering.willStream();
    const limitUnits = unitsPerMonth(fairUse, caller.entitlement);
    metering.noteModel(model);
    await metering.reserve({ fairUse: { units, limitUnits }, audioSeconds });
  }

  /** Returns the reserved amount beyond the recognised audio. */
  async #keepUsed(): Promise<void> {
    const metering = this.#call?.metering;
    if (metering === undefined || metering.hasEnded || this.#reservedMs === 0) return;
    metering.used.audioMsIn = this.#audioMs;
    await metering.reserveInstead(
      transcriptionUnits(this.#deps.fairUse, this.#audioMs),
      Math.ceil(this.#audioMs / 1000),
    );
  }

  #then<T>(work: () => Promise<T>): Promise<T> {
    const { span } = this.#deps;
    const next = this.#work.then(() => (span ? span.run(work) : work()));
    this.#work = next.catch(() => undefined);
    return next;
  }
}

/**
 * Number of consecutive hypotheses that must agree on a stable word. With two, 2 of 42 words were wrong; with three,
 * none of 40.
 */
const hypothesesMin = 3;

/**
 * Finds the words of a growing text that will probably not change. The last word is never stable. After a stable word
 * has changed, nothing more becomes stable, and the final text corrects it.
 */
class StableWords {
  #before: readonly (readonly string[])[] = [];
  #stable: readonly string[] = [];

  /** @returns the number of stable words at the start of `text` */
  add(text: string): number {
    const words = text.split(' ').filter((word) => word !== '');
    if (this.#before.length >= hypothesesMin - 1 && this.#stable.every((word, at) => words[at] === word)) {
      let agreed = this.#stable.length;
      while (agreed < words.length - 1 && this.#before.every((other) => other[agreed] === words[agreed]))
        agreed++;
      this.#stable = words.slice(0, agreed);
    }
    this.#before = [...this.#before, words].slice(1 - hypothesesMin);
    return this.#stable.length;
  }
}
