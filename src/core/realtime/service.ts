/** Opens sessions, and counts them. */

import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type StreamTranscribeRequest,
  type StreamTranscribeResponse,
  StreamTranscribeResponseSchema,
} from '../../../gen/parley/audio/v1/live_pb.ts';
import type { Call } from '../access/call.ts';
import { type FairUseRules, unitsPerMonth } from '../billing/fair-use.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { voicesOf } from '../catalog/views.ts';
import type { ChatOperations } from '../chat/service.ts';
import type { TranscriptionEngine, VoiceList } from '../entities/engine.ts';
import type { LiveSpeaker, OpenDecoder, OpenEncoder, VoiceDetector } from '../entities/live.ts';
import type { ConversationModel } from '../entities/model.ts';
import type { Tracer } from '../entities/tracer.ts';
import type { SpeechOperations } from '../speech/service.ts';
import { ParleyError } from '../values/errors.ts';
import { present } from '../values/json.ts';
import { Conversation } from './conversation.ts';
import { History } from './items.ts';
import type { ResponseDeps } from './live-response.ts';
import { LiveSession } from './live-session.ts';
import { Reports, type SessionReport } from './reports.ts';
import { type Answer, RequestSession } from './request-session.ts';
import { feed, reader } from './transcribe-request.ts';

/** Media functions that sessions need. */
export interface LiveMedia {
  openSpeaker(engine: TranscriptionEngine): LiveSpeaker;
  openDetector(): Promise<VoiceDetector>;
  readonly openDecoder: OpenDecoder;
  readonly openEncoder: OpenEncoder;
}

/** Maximum number of sessions of a server. One account may have half of them. */
export const sessionsMax = 1_000;
const retryAfterSeconds = 5;
/** Time for the last events of sessions that a stopping server cuts. */
const farewellMs = 1_000;
/** Bytes of items for each token of a model's context: fewer than most have, so that an answer fits, too. */
const bytesPerToken = 2;

/** A session of the server. It counts while it is opened, too. */
interface Place {
  readonly account: string;
  session: Pick<LiveSession, 'finish' | 'leave'> | undefined;
}

function stopping(): ParleyError {
  return new ParleyError('overloaded', { message: 'The server is stopping. Open another session.' });
}

export interface RealtimeDeps {
  readonly catalog: Catalog;
  readonly fairUse: FairUseRules;
  readonly media: LiveMedia;
  readonly chat: ChatOperations;
  readonly speech: SpeechOperations;
  readonly tracer: Tracer | undefined;
}

/** A conversation that clients may open, and its voices. */
export interface OfferedConversation {
  readonly model: ConversationModel;
  readonly voices: VoiceList;
  /** The id of the transcription model. */
  readonly transcription: string;
}

export interface OpenSession {
  readonly session: LiveSession;
  /** Undefined in a session that only transcribes. */
  readonly conversation: Conversation | undefined;
  readonly reports: Reports;
}

/** Implements the live part of TranscriptionService. */
export class RealtimeOperations {
  readonly #deps: RealtimeDeps;
  readonly #places = new Set<Place>();
  #isStopping = false;

  constructor(deps: RealtimeDeps) {
    this.#deps = deps;
  }

  /**
   * Ends all sessions of a stopping server, after the spoken turns, and opens no other.
   * @param msMax when connections are cut. Clients that still wait for a text are told just before. Default: never
   */
  drain(msMax?: number): void {
    this.#isStopping = true;
    for (const { session } of this.#places) session?.finish(stopping());
    if (msMax === undefined) return;
    const cut = () => {
      for (const { session } of this.#places) session?.leave(stopping());
    };
    setTimeout(cut, Math.max(msMax / 2, msMax - farewellMs)).unref();
  }

  async *streamTranscribe(
    requests: AsyncIterable<StreamTranscribeRequest>,
    call: Call,
  ): AsyncGenerator<readonly StreamTranscribeResponse[], void, void> {
    const begin = ({ session }: OpenSession) => void feed(requests, session, reader(session));
    for await (const reports of this.run(begin, call)) {
      const events = reports.flatMap((report) => toEvent(report) ?? []);
      const responses = events.map((event) => create(StreamTranscribeResponseSchema, { event }));
      if (responses.length > 0) yield responses;
    }
  }

  /**
   * @param id undefined for the first one
   * @returns undefined if there is none. @throws `engine_unavailable` if the voices are not known
   */
  conversation(id: string | undefined): OfferedConversation | undefined {
    const model = this.#deps.catalog.conversation(id);
    const speech = model && this.#deps.catalog.speechModel(model.speech);
    if (model === undefined || speech === undefined) return undefined;
    const { voices, defaultVoice } = voicesOf(speech);
    const transcription = this.#deps.catalog.transcriptionModel(true)?.id ?? '';
    return { model, voices: { voices, defaultVoice: model.voice ?? defaultVoice }, transcription };
  }

  /**
   * Runs a session.
   * @param begin gets the session, to which it passes what the client sends
   * @param model of a conversation. Default: the session only transcribes
   */
  async *run(
    begin: (opened: OpenSession) => void,
    call: Call,
    model?: ConversationModel,
  ): AsyncGenerator<readonly SessionReport[], void, void> {
    const place = this.#take(call);
    try {
      const opened = await this.#openSession(call, model);
      const { session } = opened;
      place.session = session;
      begin(opened);
      if (this.#isStopping) session.finish(stopping());
      yield* opened.reports.read();
    } finally {
      this.#leave(place);
    }
  }

  /** Runs a session of requests, each of which is opened by the gate, and answered after the one before. */
  async *runEach<Request, Part>(
    requests: AsyncIterable<Request>,
    answer: Answer<Request, Part>,
    call: Call,
  ): AsyncGenerator<Part, void, void> {
    const place = this.#take(call);
    try {
      const limitUnits = unitsPerMonth(this.#deps.fairUse, call.caller.entitlement);
      await call.metering.reserve({ fairUse: { units: 0, limitUnits } });
      const session = new RequestSession(call);
      place.session = session;
      if (this.#isStopping) session.finish(stopping());
      yield* session.answers(requests, answer);
    } finally {
      this.#leave(place);
    }
  }

  /** @throws `overloaded` */
  #take({ caller }: Call): Place {
    if (this.#isStopping) throw stopping();
    const place: Place = { account: caller.account.id, session: undefined };
    const own = [...this.#places].filter(({ account }) => account === place.account);
    const isFull = this.#places.size >= sessionsMax || own.length >= sessionsMax / 2;
    if (isFull) throw new ParleyError('overloaded', { retryAfterSeconds, hasNotRun: true });
    this.#places.add(place);
    return place;
  }

  #leave(place: Place): void {
    this.#places.delete(place);
    place.session?.leave();
  }

  async #openSession(call: Call, talk: ConversationModel | undefined): Promise<OpenSession> {
    const { metering, caller, turns, signal } = call;
    if (turns === undefined) throw new Error('the gate did not open a session');
    const { catalog, fairUse, media, tracer } = this.#deps;
    // Turns begin at events of the wire, outside of the session's span.
    const parent = tracer?.outgoing() ?? {};
    const { id: model, engine } = catalog.availableTranscriptionModel(true);
    const { openDecoder, openEncoder } = media;
    metering.noteModel(model);
    const limitUnits = unitsPerMonth(fairUse, caller.entitlement);
    await metering.reserve({ fairUse: { units: 0, limitUnits }, audioSeconds: 0 });
    const detector = await media.openDetector();
    const speaker = media.openSpeaker(engine);
    const reports = new Reports();
    const conversation =
      talk && this.#converse(talk, { turns, reports, owner: caller.account.id, openEncoder });
    const session = new LiveSession({
      turns,
      signal,
      model,
      speaker,
      detector,
      fairUse,
      openDecoder,
      openSpan: () => tracer?.span('turn', parent),
      reports: conversation?.sessionReports() ?? reports,
    });
    return { session, conversation, reports };
  }

  #converse(
    models: ConversationModel,
    deps: Pick<ResponseDeps, 'turns' | 'reports' | 'owner' | 'openEncoder'>,
  ): Conversation {
    const { catalog, chat, speech } = this.#deps;
    const promptBytesMax = () => bytesPerToken * (catalog.chatModel(models.chat)?.contextTokens ?? 0);
    return new Conversation({ ...deps, chat, speech, models, promptBytesMax, history: new History() });
  }
}

type EventInit = MessageInitShape<typeof StreamTranscribeResponseSchema>['event'];

/** Undefined for a report that has no message. */
function toEvent(report: SessionReport): EventInit {
  switch (report.kind) {
    case 'started':
    case 'stopped':
      return { case: report.kind, value: { turn: report.turn, atMs: BigInt(Math.round(report.atMs)) } };
    case 'partial':
      return { case: 'partial', value: report };
    case 'completed':
      return { case: 'turn', value: toTurn(report) };
    case 'failed': {
      const { turn, id, error } = report;
      const { code, message } = error;
      return { case: 'failure', value: { turn, code, message, ...present({ requestId: id }) } };
    }
    case 'commit_empty':
      return {
        case: 'failure',
        value: { code: 'invalid_input', message: 'There is no turn to commit. Send audio first.' },
      };
    default:
      return undefined;
  }
}

function toTurn({
  turn,
  id,
  transcript,
  startMs,
  durationMs,
}: Extract<SessionReport, { kind: 'completed' }>) {
  const words = transcript.words.map((word) => ({
    word: word.word,
    start: (startMs + word.startMs) / 1000,
    end: (startMs + word.endMs) / 1000,
    ...present({ probability: word.probability }),
  }));
  return {
    turn,
    text: transcript.text,
    words,
    startMs: BigInt(Math.round(startMs)),
    seconds: durationMs / 1000,
    requestId: id,
  };
}
