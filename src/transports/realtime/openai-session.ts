/** A live session in OpenAI's Realtime protocol: its events over a WebSocket, as transcriptions of the audio. */
import { randomUUID } from 'node:crypto';
import type { JsonValue } from '@bufbuild/protobuf';
import type { WebSocket } from 'ws';
import { itemOf, userItem } from '../../core/realtime/conversation.ts';
import type { SessionReport } from '../../core/realtime/reports.ts';
import type { OpenSession, RealtimeOperations } from '../../core/realtime/service.ts';
import { ParleyError, toParleyError } from '../../core/values/errors.ts';
import { parsedObject } from '../../core/values/json.ts';
import { invalidInput } from '../../core/values/parameters.ts';
import type { ServedCall } from '../run-call.ts';
import { audioOf, type ClientEvent, describeError, hasType, RealtimeError, textOf } from './client-event.ts';
import { addedEvents, converse, responseEvent } from './conversation-events.ts';
import { EventSocket } from './event-socket.ts';
import { checkType, configOf, readUpdate, type Settings, sessionOf } from './session-settings.ts';

/** Close codes of WebSockets. OpenAI's clients connect again after 1001. */
const closeCodes = { ended: 1000, goingAway: 1001, refused: 1008, failed: 1011 } as const;

/** Codes of a client that closes its side properly; 1005 stands for none. */
const cleanCodes: ReadonlySet<number> = new Set([1000, 1001, 1005]);

/** Events of conversations, which a session that transcribes does not hold. */
const conversationEvents = /^(response|conversation\.item|output_audio_buffer)\./;

export class OpenAiSession {
  readonly #socket: EventSocket;
  readonly #served: ServedCall;
  readonly #id = `sess_${randomUUID().replaceAll('-', '')}`;
  /** The words of the open turns that the client has. */
  readonly #sent = new Map<number, number>();
  #opened: OpenSession | undefined;
  #settings: Settings;
  #lastItem: string | null = null;
  /** Turns whose items the client knows. */
  readonly #added = new Set<number>();
  /** The error that was sent for a turn without an item. */
  #sentError: ParleyError | undefined;

  constructor(socket: WebSocket, settings: Settings, served: ServedCall) {
    this.#socket = new EventSocket(socket, served, (code) => this.#close(code));
    this.#served = served;
    this.#settings = settings;
  }

  /** Serves the session until its end. Does not reject. */
  async run(realtime: RealtimeOperations): Promise<void> {
    const model = this.#settings.offered?.model;
    const run: RealtimeOperations['run'] = (begin, call) => realtime.run(begin, call, model);
    const rpc = { run, isOutput: () => true };
    try {
      for await (const reports of this.#served.stream(rpc, (opened: OpenSession) => this.#begin(opened))) {
        for (const report of reports) await this.#report(report);
      }
      this.#socket.close(closeCodes.ended);
    } catch (thrown) {
      await this.#fail(this.#served.errorOf(thrown));
    } finally {
      this.#served.finish();
    }
  }

  /** A client that closes properly after its last text has ended its session; any other has left it. */
  #close(code: number): void {
    const { session } = this.#opened ?? {};
    const isEnd = cleanCodes.has(code) && session?.isIdle;
    if (isEnd) session?.finish();
    this.#served.close(!isEnd);
  }

  #begin(opened: OpenSession): void {
    this.#opened = opened;
    this.#configure(opened, this.#settings);
    void this.#send({ type: 'session.created', session: sessionOf(this.#id, this.#settings) });
    this.#socket.listen((message) => this.#read(message, opened));
  }

  async #read(message: string | undefined, opened: OpenSession): Promise<void> {
    const event = message === undefined ? undefined : parsedObject(message);
    try {
      if (!hasType(event))
        throw new ParleyError('invalid_input', { message: 'Send events as JSON texts with a `type`.' });
      await this.#handle(event, opened);
    } catch (thrown) {
      await this.#sendError(toParleyError(thrown), event?.['event_id']);
    }
  }

  #configure({ session, conversation }: OpenSession, settings: Settings): void {
    const { responses: response, detection } = settings;
    const { answers = false, interrupts = false } = detection ?? {};
    if (response) conversation?.configure({ response, answers, interrupts });
    session.configure(configOf(settings));
    this.#settings = settings;
  }

  async #handle(event: ClientEvent, opened: OpenSession): Promise<void> {
    const { session, conversation } = opened;
    switch (event.type) {
      case 'session.update':
      case 'transcription_session.update':
        if (event.type !== 'session.update') checkType(this.#settings, 'transcription');
        this.#configure(opened, readUpdate(this.#settings, event['session']));
        return this.#send({ type: `${event.type}d`, session: sessionOf(this.#id, this.#settings) });
      case 'input_audio_buffer.append':
        return session.audio(audioOf(event['audio']));
      case 'input_audio_buffer.commit':
        return session.commit(textOf(event, 'event_id'));
      case 'input_audio_buffer.clear':
        return session.clear();
    }
    const events = conversation && converse(event, conversation, this.#settings);
    if (events) {
      await this.#sendAll(events);
      // Those of a response hold all that the client sent for it.
      return opened.reports.whenRoom();
    }
    const isConversation = conversation === undefined && conversationEvents.test(event.type);
    throw isConversation
      ? invalidInput(
          'type',
          `This server transcribes, and holds no conversations: \`${event.type}\` has no effect.`,
        )
      : invalidInput('type', `There is no event \`${event.type}\`.`);
  }

  async #report(report: SessionReport): Promise<void> {
    switch (report.kind) {
      case 'started':
        return this.#sendOf(report.turn, 'input_audio_buffer.speech_started', {
          audio_start_ms: Math.round(report.atMs),
        });
      case 'stopped':
        return this.#sendOf(report.turn, 'input_audio_buffer.speech_stopped', {
          audio_end_ms: Math.round(report.atMs),
        });
      case 'committed':
        return this.#sendCommitted(report.turn, report.previous);
      case 'cleared':
        return this.#send({ type: 'input_audio_buffer.cleared' });
      case 'commit_empty':
        return this.#sendError(emptyCommit(), report.eventId);
      case 'partial':
        return this.#sendDelta(report.turn, report.text, report.stableWords);
      case 'completed':
        this.#sent.delete(report.turn);
        this.#added.delete(report.turn);
        return this.#sendOf(report.turn, `${transcription}.completed`, {
          content_index: 0,
          transcript: report.transcript.text,
          usage: { type: 'duration', seconds: report.durationMs / 1000 },
          request_id: report.id,
        });
      case 'failed':
        this.#sent.delete(report.turn);
        if (!this.#added.delete(report.turn)) return this.#sendTurnError(report.error);
        return this.#sendOf(report.turn, `${transcription}.failed`, {
          content_index: 0,
          error: describeError(report.error),
          request_id: report.id,
        });
      case 'response':
        return this.#send(responseEvent(report.response));
      case 'event':
        return this.#send(report.event);
    }
  }

  /** @param previous the id of the item before it, in a conversation */
  async #sendCommitted(turn: number, previous = this.#lastItem): Promise<void> {
    const item = userItem(turn, null);
    this.#lastItem = item.id;
    this.#added.add(turn);
    await this.#send({ type: 'input_audio_buffer.committed', previous_item_id: previous, item_id: item.id });
    await this.#sendAll(addedEvents(item, previous));
  }

  /** Deltas only grow: they have the words that will not change. */
  async #sendDelta(turn: number, text: string, stableWords: number): Promise<void> {
    const sent = this.#sent.get(turn) ?? 0;
    if (stableWords <= sent) return;
    this.#sent.set(turn, stableWords);
    const words = text.split(' ').slice(sent, stableWords).join(' ');
    const delta = sent === 0 ? words : ` ${words}`;
    await this.#sendOf(turn, `${transcription}.delta`, { content_index: 0, delta });
  }

  async #fail(error: ParleyError): Promise<void> {
    if (error.code === 'request_cancelled') return this.#socket.terminate();
    if (error !== this.#sentError) await this.#sendError(error, undefined);
    this.#socket.close(closeCodeOf(error), error.code);
  }

  /** Reports a turn that failed before it became an item. Its error may also end the session. */
  #sendTurnError(error: ParleyError): Promise<void> {
    this.#sentError = error;
    return this.#sendError(error, undefined);
  }

  #sendError(error: ParleyError, eventId: JsonValue | undefined): Promise<void> {
    const about = { ...describeError(error), event_id: typeof eventId === 'string' ? eventId : null };
    return this.#send({ type: 'error', error: about });
  }

  async #sendAll(events: readonly object[]): Promise<void> {
    for (const event of events) await this.#send(event);
  }

  #sendOf(turn: number, type: string, members: object): Promise<void> {
    return this.#send({ type, item_id: itemOf(turn), ...members });
  }

  #send(event: object): Promise<void> {
    return this.#socket.send({ event_id: `event_${randomUUID().replaceAll('-', '')}`, ...event });
  }
}

const transcription = 'conversation.item.input_audio_transcription';

function closeCodeOf({ code, isRefusal }: ParleyError): number {
  if (code === 'overloaded') return closeCodes.goingAway;
  return isRefusal ? closeCodes.refused : closeCodes.failed;
}

function emptyCommit(): RealtimeError {
  const message = 'Error committing input audio buffer: the buffer is empty. Send audio first.';
  return new RealtimeError('input_audio_buffer_commit_empty', message);
}
