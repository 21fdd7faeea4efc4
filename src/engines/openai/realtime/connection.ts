/** One WebSocket to an upstream's Realtime API, for the turns of one speaker: a transcription session whose turns we commit. */
import type { RawData, WebSocket } from 'ws';
import { ParleyError } from '../../../core/values/errors.ts';
import { wellFormedJson } from '../../../core/values/json.ts';
import { OwnSignal } from '../../../core/values/signal.ts';
import { ConnectionError, malformedResponse } from '../errors.ts';
import type { UpstreamModel } from '../settings.ts';
import { settingsEvent, type UpstreamEvent, type UpstreamTurnEvent, upstreamEvent } from './events.ts';

/** A turn as its connection sees it. */
export interface RelayedTurn {
  /** Audio may be sent from now on. */
  ready(): void;
  handle(event: UpstreamTurnEvent): void;
  fail(error: ParleyError): void;
}

interface Entry {
  readonly turn: RelayedTurn;
  readonly number: number;
  /** The upstream's name of the turn, known from its first event. */
  item: string | undefined;
  isCommitted: boolean;
  /** Cleared before its end: its events do not matter. */
  isCleared: boolean;
}

/** Bytes that may arrive while a turn is heard. */
const turnBytesMax = 1024 ** 2;
/** Names of ended turns, so that late events do not belong to the next one. */
const endedMax = 16;

export class Connection {
  readonly #model: UpstreamModel;
  readonly #closing = new OwnSignal();
  /** Turns without an end, oldest first. */
  #entries: Entry[] = [];
  #ended: string[] = [];
  #turns = 0;
  #bytes = 0;
  #language: string | undefined;
  #socket: WebSocket | undefined;
  #isReady = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(model: UpstreamModel) {
    this.#model = model;
    this.#open().catch((error: unknown) => this.#end(error));
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  add(turn: RelayedTurn): void {
    const entry = { turn, number: ++this.#turns, item: undefined, isCommitted: false, isCleared: false };
    this.#entries.push(entry);
    this.#bytes = 0;
    if (!this.#isReady) return;
    clearTimeout(this.#timer);
    turn.ready();
  }

  /** Applies to the audio that follows. */
  speak(language: string | undefined): void {
    if (language === this.#language) return;
    this.#language = language;
    this.#send({ event_id: 'language', ...settingsEvent(this.#model, language) });
  }

  /** @param onSent called once the audio has left, or never will */
  append(audio: string, onSent: () => void): void {
    this.#socket?.send(JSON.stringify({ type: 'input_audio_buffer.append', audio }), onSent);
  }

  commit(turn: RelayedTurn): void {
    const entry = this.#entries.find((each) => each.turn === turn);
    if (entry === undefined) return;
    entry.isCommitted = true;
    this.#send({ type: 'input_audio_buffer.commit', event_id: `turn_${entry.number}` });
  }

  /** Forgets a turn. Its end at the upstream, if it has begun there, is not waited for. */
  drop(turn: RelayedTurn): void {
    const entry = this.#entries.find((each) => each.turn === turn);
    if (entry === undefined || entry.isCleared) return;
    entry.isCleared = true;
    if (!this.#isReady) this.#remove(entry);
    else if (!entry.isCommitted) this.#send({ type: 'input_audio_buffer.clear' });
  }

  /** Fails the turns that have no end: the upstream does not go on. */
  late(stage: 'late' | 'idle', ms: number): void {
    this.#break(new ConnectionError(stage, new Error(`no event within ${ms} ms`)));
  }

  close(): void {
    this.#end(new ParleyError('request_cancelled'));
  }

  async #open(): Promise<void> {
    const { upstream, settings } = this.#model;
    const socket = await upstream.openSocket('/realtime?intent=transcription', this.#closing);
    if (this.#isClosed) return socket.terminate();
    this.#socket = socket;
    socket.on('message', (data, isBinary) => {
      try {
        this.#receive(data, isBinary);
      } catch (error) {
        this.#break(error);
      }
    });
    socket.once('close', (code) => this.#lost(new Error(`the upstream closed with ${code}`)));
    socket.once('error', (error) => this.#lost(error));
    const { firstByteMs } = settings;
    this.#timer = setTimeout(() => this.late('late', firstByteMs), firstByteMs);
    socket.resume();
  }

  #lost(cause: Error): void {
    // Frames that break the rules of WebSockets.
    const isMalformed = 'code' in cause && String(cause.code).startsWith('WS_ERR');
    // Before the settings are confirmed, no audio was sent.
    const error = new ConnectionError(this.#isReady ? 'reading' : 'connecting', cause);
    this.#break(isMalformed ? malformedResponse('wrong frames', cause) : error);
  }

  #receive(data: RawData, isBinary: boolean): void {
    const text = String(data);
    this.#bytes += text.length;
    if (isBinary) throw malformedResponse('a binary message');
    if (this.#bytes > turnBytesMax) throw malformedResponse(`over ${turnBytesMax} bytes in a turn`);
    const event = upstreamEvent(text);
    if (event !== undefined) this.#handle(event);
  }

  #handle(event: UpstreamEvent): void {
    switch (event.kind) {
      case 'created':
        this.#send({ event_id: 'settings', ...settingsEvent(this.#model, this.#language) });
        break;
      case 'updated':
        this.#begin();
        break;
      case 'cleared':
        this.#remove(this.#entries.find(({ isCleared, isCommitted }) => isCleared && !isCommitted));
        break;
      case 'error':
        this.#fail(event.id, event.body);
        break;
      default:
        this.#handleOfTurn(event);
    }
  }

  #begin(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    clearTimeout(this.#timer);
    for (const { turn } of [...this.#entries]) turn.ready();
    this.#closeWhenIdle();
  }

  /** The first event with an unknown name belongs to the oldest turn without one. */
  #handleOfTurn(event: UpstreamTurnEvent): void {
    if (this.#ended.includes(event.item)) return;
    const entry =
      this.#entries.find(({ item }) => item === event.item) ??
      this.#entries.find(({ item }) => item === undefined);
    if (entry === undefined) return;
    entry.item = event.item;
    const isEnd = event.kind === 'completed' || event.kind === 'failed';
    if (isEnd && !entry.isCommitted && !entry.isCleared) throw malformedResponse('an end before the commit');
    if (isEnd) this.#remove(entry);
    if (entry.isCleared) return;
    if (event.kind === 'failed') entry.turn.fail(this.#model.upstream.eventError(event.body));
    else entry.turn.handle(event);
  }

  /** An error that names no commit of ours ends the connection: what it concerns is unknown. */
  #fail(id: string | undefined, body: string): void {
    const error = this.#model.upstream.eventError(body);
    const entry = this.#entries.find(({ number }) => id === `turn_${number}`);
    if (entry === undefined) this.#end(error);
    else this.#remove(entry);
    if (entry?.isCleared === false) entry.turn.fail(error);
  }

  #remove(entry: Entry | undefined): void {
    if (entry === undefined) return;
    this.#entries = this.#entries.filter((each) => each !== entry);
    if (entry.item !== undefined) this.#ended = [...this.#ended, entry.item].slice(-endedMax);
    this.#closeWhenIdle();
  }

  /** A connection that waits for a turn keeps others from the upstream. The next turn opens another one. */
  #closeWhenIdle(): void {
    if (!this.#isReady || this.#entries.length > 0) return;
    clearTimeout(this.#timer);
    const { idleMs, realtimeKeptMs = idleMs } = this.#model.settings;
    this.#timer = setTimeout(() => this.close(), realtimeKeptMs).unref();
  }

  #send(event: object): void {
    this.#socket?.send(wellFormedJson(event), () => undefined);
  }

  #break(error: unknown): void {
    if (!this.#isClosed && this.#entries.length > 0) this.#model.upstream.report(error);
    this.#end(error);
  }

  #end(error: unknown): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#closing.abort(error);
    if (this.#entries.length > 0) this.#socket?.terminate();
    else this.#socket?.close(1000);
    const failure =
      error instanceof ParleyError ? error : new ParleyError('internal_error', { cause: error });
    for (const { turn, isCleared } of this.#entries.splice(0)) if (!isCleared) turn.fail(failure);
  }
}
