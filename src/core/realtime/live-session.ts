/** Runs a session: keeps its state, carries out the effects, and reports what the transport must send. */
import type { Turns } from '../access/call.ts';
import type { FairUseRules } from '../billing/fair-use.ts';
import {
  type AudioDecoder,
  type AudioEncoding,
  type LiveSpeaker,
  liveSampleRate,
  type OpenDecoder,
  type Samples,
  type VoiceDetector,
} from '../entities/live.ts';
import type { TraceSpan } from '../entities/tracer.ts';
import { ParleyError, toParleyError } from '../values/errors.ts';
import { namedLanguage } from '../values/parameters.ts';
import type { Signal } from '../values/signal.ts';
import type { ReportQueue, SessionReport } from './reports.ts';
import {
  newSession,
  next,
  roomMs,
  type SessionEffect,
  type SessionEvent,
  type SessionState,
  type TurnNumber,
  takesAudio,
  windowMs,
} from './session.ts';
import { type SessionLimits, SessionTimers, sessionLimits } from './session-timers.ts';
import { Turn } from './turn.ts';
import { TurnCutter, type TurnDetection } from './turn-cutter.ts';

/** Maximum number of turns of a session that wait for their text. Then no more audio is accepted. */
export const pendingMax = 4;

export interface LiveSessionDeps {
  readonly turns: Turns;
  readonly signal: Signal;
  readonly model: string;
  readonly speaker: LiveSpeaker;
  /** Closed with the session. */
  readonly detector: VoiceDetector;
  readonly openDecoder: OpenDecoder;
  readonly fairUse: FairUseRules;
  /** Begins the part of the trace for a turn. Default: nothing is traced. */
  readonly openSpan?: () => TraceSpan | undefined;
  readonly limits?: SessionLimits;
  /** Ends after the records of all turns, with the reason of the session's end, if any. */
  readonly reports: ReportQueue;
}

export interface SessionConfig {
  readonly encoding: AudioEncoding;
  readonly sampleRate: number;
  readonly language: string | undefined;
  /** Undefined if the client commits. */
  readonly detection: TurnDetection | undefined;
  /** Whether to report texts that still grow. Default: true. */
  readonly hasPartials?: boolean;
}

export class LiveSession {
  readonly #deps: LiveSessionDeps;
  readonly #turns = new Map<TurnNumber, Turn>();
  /** Resolves once the committed turns so far have their texts or have failed. */
  #texts: Promise<void> = Promise.resolve();
  /** Resolves once the ends of all turns so far are recorded and reported. */
  #ended: Promise<void> = Promise.resolve();
  readonly #cutter: TurnCutter;
  readonly #timers: SessionTimers;
  #decode: AudioDecoder | undefined;
  #language: string | undefined;
  #hasPartials = true;
  #state: SessionState = newSession;
  /** The first is being carried out. */
  readonly #events: SessionEvent[] = [];
  /** Resolves at the next event: audio may wait for it. */
  #change = Promise.withResolvers<void>();

  constructor(deps: LiveSessionDeps) {
    this.#deps = deps;
    this.#cutter = new TurnCutter(deps.detector);
    this.#timers = new SessionTimers(deps.limits ?? sessionLimits, deps.turns, {
      end: (reason) => this.finish(reason),
      refuse: (error) => this.#put({ kind: 'refused', turn: undefined, error }),
    });
    deps.signal.addEventListener('abort', this.#onAbort, { once: true });
    if (deps.signal.aborted) this.#onAbort();
  }

  /** Whether all turns so far have ended. */
  get isIdle(): boolean {
    return this.#state.open === undefined && this.#turns.size === 0;
  }

  /** Applies to the audio that follows. */
  configure({ encoding, sampleRate, language, detection, hasPartials = true }: SessionConfig): void {
    this.#decode = this.#deps.openDecoder(encoding, sampleRate);
    this.#language = namedLanguage(language);
    this.#hasPartials = hasPartials;
    this.#cutter.detect(detection);
  }

  /** Resolves when more audio may be sent, which waits until it is reserved. Call one at a time, after `configure`. */
  async audio(bytes: Uint8Array): Promise<void> {
    this.#timers.noteMessage();
    if (this.#decode === undefined || !takesAudio(this.#state)) return;
    for (const cut of this.#cutter.cut(this.#decode(bytes))) {
      if (cut.kind === 'audio') await this.#addAudio(cut.samples, cut.atMs);
      else this.#put(cut);
      if (!takesAudio(this.#state)) return;
    }
    while (this.#state.pending.length >= pendingMax) await this.#change.promise;
    await this.#deps.reports.whenRoom();
  }

  /**
   * Like `clear`, resolves when the client has read enough of the answers before.
   * @param eventId for the report of an empty commit
   */
  commit(eventId?: string): Promise<void> {
    this.#timers.noteMessage();
    this.#cutter.endSkip();
    this.#put({ kind: 'commit', eventId });
    return this.#deps.reports.whenRoom();
  }

  clear(): Promise<void> {
    this.#timers.noteMessage();
    this.#cutter.endSkip();
    this.#put({ kind: 'clear', error: new ParleyError('request_cancelled') });
    return this.#deps.reports.whenRoom();
  }

  /** Accepts no more audio, and ends when all turns have their text. @param reason undefined if the client has ended its side */
  finish(reason?: ParleyError): void {
    this.#put({ kind: 'finish', reason });
  }

  /** Drops everything, as the client has left or the server ends. Does nothing once the session has ended. */
  leave(error = new ParleyError('request_cancelled')): void {
    this.#put({ kind: 'gone', error });
  }

  readonly #onAbort = () => this.leave(toParleyError(this.#deps.signal.reason));

  async #addAudio(samples: Samples, atMs: number): Promise<void> {
    for (let at = 0; at < samples.length; ) {
      while (this.#state.open?.isReserving && roomMs(this.#state) <= 0) await this.#change.promise;
      const turn = this.#turns.get(this.#state.open?.turn ?? 0);
      if (turn === undefined) return;
      const part = samples.slice(
        at,
        at + Math.max(1, Math.floor((roomMs(this.#state) * liveSampleRate) / 1000)),
      );
      at += part.length;
      turn.add(part);
      this.#put({ kind: 'audio', ms: (part.length * 1000) / liveSampleRate, atMs });
    }
  }

  /** Queues events that arise while effects are carried out. */
  #put(event: SessionEvent): void {
    if (this.#events.push(event) > 1) return;
    for (let [event] = this.#events; event; [event] = this.#events) {
      if (event.kind === 'failed' && event.turn === this.#state.open?.turn) this.#cutter.skip();
      const [state, effects] = next(this.#state, event);
      if (state.phase === 'closing' && state.reason) this.#timers.endWithin(windowMs, state.reason);
      this.#state = state;
      for (const effect of effects) this.#carryOut(effect);
      this.#events.shift();
    }
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }

  #carryOut(effect: SessionEffect): void {
    switch (effect.do) {
      case 'listen':
        this.#listen(effect.turn, effect.atMs);
        break;
      case 'committed':
        this.#cutter.restart();
        this.#deps.reports.add({ kind: 'committed', turn: effect.turn });
        break;
      case 'started':
      case 'stopped':
        this.#deps.reports.add({ kind: effect.do, turn: effect.turn, atMs: effect.atMs });
        break;
      case 'cleared':
        this.#deps.reports.add({ kind: 'cleared' });
        break;
      case 'commit_empty':
        this.#deps.reports.add({ kind: 'commit_empty', eventId: effect.eventId });
        break;
      case 'end':
        void this.#end(effect.reason);
        break;
      default: {
        const turn = this.#turns.get(effect.turn);
        if (turn) this.#carryOutFor(turn, effect);
      }
    }
  }

  #carryOutFor(turn: Turn, effect: SessionEffect): void {
    switch (effect.do) {
      case 'reserve':
        void this.#reserve(turn, effect.ms);
        break;
      case 'partial':
        void this.#partial(turn);
        break;
      case 'transcribe':
        this.#texts = this.#transcribe(turn, this.#texts);
        break;
      case 'complete':
        this.#endTurn(turn, complete(turn));
        break;
      case 'fail':
        this.#endTurn(turn, fail(turn, effect.error, effect.isReported));
    }
  }

  #listen(number: TurnNumber, startMs: number): void {
    const { turns, signal, speaker, model, fairUse, openSpan } = this.#deps;
    const turn = new Turn(number, startMs, { turns, model, fairUse, span: openSpan?.() });
    this.#turns.set(number, turn);
    const onFailure = (error: unknown) => this.#failed(turn, error);
    const onPartial = (text: string) => {
      if (!this.#hasPartials) return;
      turn.hypothesis = text;
      this.#put({ kind: 'partial', turn: number });
    };
    try {
      const { attempts } = turn;
      turn.listen(speaker.listen({ language: this.#language, onPartial, onFailure, signal, attempts }));
    } catch (error) {
      onFailure(error);
    }
  }

  async #reserve(turn: Turn, ms: number): Promise<void> {
    try {
      this.#put({ kind: 'granted', turn: turn.number, ms: await turn.reserve(ms) });
    } catch (error) {
      this.#put({ kind: 'refused', turn: turn.number, error: toParleyError(error) });
    }
  }

  async #partial(turn: Turn): Promise<void> {
    try {
      const partial = await turn.partial();
      // The last event of the turn may have been sent meanwhile.
      if (this.#turns.has(turn.number))
        this.#deps.reports.add({ kind: 'partial', turn: turn.number, ...partial });
    } catch (error) {
      this.#failed(turn, error);
    }
  }

  /** Turns get their final texts in order. */
  async #transcribe(turn: Turn, before: Promise<void>): Promise<void> {
    try {
      await turn.transcribe();
      await before;
      this.#put({ kind: 'final', turn: turn.number });
    } catch (error) {
      this.#failed(turn, error);
    }
    await before;
  }

  #failed(turn: Turn, error: unknown): void {
    this.#put({ kind: 'failed', turn: turn.number, error: toParleyError(error) });
  }

  /** Reports the ends of turns in order, each once its record is durable. */
  #endTurn({ number }: Turn, ending: Promise<SessionReport | undefined>): void {
    this.#turns.delete(number);
    const before = this.#ended;
    this.#ended = ending.then(async (report) => {
      await before;
      if (report) this.#deps.reports.add(report);
    });
  }

  /** The session ends once the records of all its turns are durable. */
  async #end(reason: ParleyError | undefined): Promise<void> {
    this.#timers.stop();
    this.#deps.signal.removeEventListener('abort', this.#onAbort);
    this.#deps.detector.close();
    await this.#ended;
    this.#deps.speaker.close();
    this.#deps.reports.end(reason);
  }
}

/** Ends the record of a turn, and returns the last report about it. */
async function complete(turn: Turn): Promise<SessionReport> {
  try {
    return { kind: 'completed', turn: turn.number, ...(await turn.complete()) };
  } catch (error) {
    return { kind: 'failed', turn: turn.number, id: turn.id, error: toParleyError(error) };
  }
}

/** @returns undefined if the client knows */
async function fail(turn: Turn, error: ParleyError, isReported: boolean): Promise<SessionReport | undefined> {
  await turn.fail(error);
  return isReported ? { kind: 'failed', turn: turn.number, id: turn.id, error } : undefined;
}
