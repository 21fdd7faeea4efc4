/** The settings of a session, as OpenAI's events have them: in the current form, or in that of the beta. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { ConversationSettings } from '../../core/realtime/conversation.ts';
import type { SessionConfig } from '../../core/realtime/live-session.ts';
import type { ResponseSettings } from '../../core/realtime/reports.ts';
import type { OfferedConversation } from '../../core/realtime/service.ts';
import { toDetection } from '../../core/realtime/transcribe-request.ts';
import type { TurnDetection } from '../../core/realtime/turn-cutter.ts';
import { isObject } from '../../core/values/json.ts';
import { invalid, textOf } from './client-event.ts';
import {
  defaultResponses,
  type Format,
  formatJson,
  formatOf,
  pcm,
  promptJson,
  readResponses,
  responsesJson,
} from './response-settings.ts';

export interface Settings {
  /** Whether the client opened a session for transcription alone. */
  readonly isTranscription: boolean;
  readonly model: string;
  readonly language: string | undefined;
  readonly format: Format;
  /** Null: the client commits. */
  readonly detection: Detection | null;
  /** Undefined in a session that only transcribes. */
  readonly offered: OfferedConversation | undefined;
  readonly responses: ResponseSettings | undefined;
}

interface Detection extends TurnDetection {
  readonly type: 'server_vad' | 'semantic_vad';
  /** Whether a response follows each turn. */
  readonly answers: boolean;
  /** Whether speech interrupts the response. */
  readonly interrupts: boolean;
}

/** OpenAI finds no turns for these models, so their clients leave `turn_detection` out, and commit. */
const withoutDetection = /^gpt-(realtime-whisper|live-transcribe)/;
const serverVad: Detection = { type: 'server_vad', ...toDetection(), answers: true, interrupts: true };
/** Milliseconds of silence for each eagerness of semantic detection: here the meaning of words decides nothing. */
const silences: Readonly<Record<string, number>> = { low: 2_000, medium: 1_000, auto: 1_000, high: 600 };

export function settingsFor(query: URLSearchParams, offered?: OfferedConversation): Settings {
  const model = offered?.transcription ?? query.get('model') ?? '';
  return {
    isTranscription: query.get('intent') === 'transcription',
    model,
    language: undefined,
    format: pcm,
    detection: withoutDetection.test(model) ? null : serverVad,
    offered,
    responses: offered && defaultResponses(offered.voices),
  };
}

/** @throws `invalid_input` */
export function readUpdate(settings: Settings, session: unknown): Settings {
  if (!isObject(session)) throw invalid('session', '`session` is an object.');
  checkType(settings, session['type']);
  const { audio } = session;
  const { responses, offered } = settings;
  const input = isObject(audio) && isObject(audio['input']) ? audio['input'] : ofBeta(session);
  const { transcription } = input;
  const named = isObject(transcription) ? transcription : {};
  const model = textOf(named, 'model') ?? settings.model;
  return {
    ...settings,
    model,
    language: textOf(named, 'language') ?? settings.language,
    format: formatOf(input['format']) ?? settings.format,
    detection: detectionOf(input['turn_detection'], settings, model),
    responses: responses && offered && readResponses(responses, session, offered.voices),
  };
}

/** A session keeps its type. One that was opened without an intent, where there are no conversations, takes either. */
export function checkType({ isTranscription, offered }: Settings, type: JsonValue | undefined): void {
  if (type === undefined || type === null) return;
  if (type !== 'realtime' && type !== 'transcription') {
    throw invalid('session.type', '`session.type` is `realtime` or `transcription`.');
  }
  if (type === 'transcription' ? offered === undefined : !isTranscription) return;
  throw invalid(
    'session.type',
    `This session is no ${type} session. Open another one${type === 'transcription' ? ' with `?intent=transcription`' : ''}.`,
  );
}

export function conversationOf({ responses, detection }: Settings): ConversationSettings | undefined {
  if (responses === undefined) return undefined;
  return {
    response: responses,
    answers: detection?.answers === true,
    interrupts: detection?.interrupts === true,
  };
}

export function configOf({ format, language, detection }: Settings): SessionConfig {
  return { encoding: format.encoding, sampleRate: format.rate, language, detection: detection ?? undefined };
}

/** The session as its events show it. */
export function sessionOf(id: string, settings: Settings): JsonObject {
  const { isTranscription, model, language, format, detection, responses, offered } = settings;
  const input: JsonObject = {
    format: formatJson(format.encoding),
    transcription: { model, language: language ?? null, prompt: '' },
    noise_reduction: null,
    turn_detection: detection && {
      type: detection.type,
      silence_duration_ms: detection.silenceMs,
      prefix_padding_ms: detection.prefixMs,
      ...(responses && { create_response: detection.answers, interrupt_response: detection.interrupts }),
    },
  };
  const kind = isTranscription ? 'transcription' : 'realtime';
  const object = isTranscription ? 'realtime.transcription_session' : 'realtime.session';
  const head = { id, object, type: kind, expires_at: 0 };
  if (offered === undefined || responses === undefined) {
    return { ...head, audio: { input }, ...(isTranscription ? {} : { model }) };
  }
  const { audio, ...shown } = responsesJson(responses);
  const about = { model: offered.model.id, tracing: null, truncation: 'auto', prompt: null, include: null };
  return { ...head, ...about, ...shown, ...promptJson(responses), audio: { input, ...audio } };
}

/** The settings of the beta, which are at the top. */
function ofBeta(session: JsonObject): JsonObject {
  const { input_audio_format: format, input_audio_transcription: transcription, turn_detection } = session;
  return {
    ...(format !== undefined && { format }),
    ...(transcription !== undefined && { transcription }),
    ...(turn_detection !== undefined && { turn_detection }),
  };
}

function detectionOf(given: JsonValue | undefined, settings: Settings, model: string): Detection | null {
  if (given === undefined) return withoutDetection.test(model) ? null : settings.detection;
  if (given === null) return null;
  if (!isObject(given)) throw invalid('turn_detection', '`turn_detection` is an object or null.');
  const answers = given['create_response'] !== false;
  const interrupts = given['interrupt_response'] !== false;
  if (given['type'] === 'semantic_vad') {
    const silence = silences[String(given['eagerness'] ?? 'auto')];
    if (silence === undefined) throw invalid('eagerness', '`eagerness` takes low, medium, high or auto.');
    return { ...serverVad, type: 'semantic_vad', silenceMs: silence, answers, interrupts };
  }
  if (given['type'] !== undefined && given['type'] !== 'server_vad') {
    throw invalid('turn_detection', '`turn_detection` takes the types `server_vad` and `semantic_vad`.');
  }
  const silenceMs = Number(given['silence_duration_ms'] ?? serverVad.silenceMs);
  const prefixMs = Number(given['prefix_padding_ms'] ?? serverVad.prefixMs);
  const names = ['silence_duration_ms', 'prefix_padding_ms'] as const;
  return { type: 'server_vad', ...toDetection(silenceMs, prefixMs, names), answers, interrupts };
}
