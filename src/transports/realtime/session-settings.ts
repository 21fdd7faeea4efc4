/** The settings of a session and its responses, as OpenAI's events have them: in the current form, or in that of the beta. */
import { create, type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf';
import { ValueSchema } from '@bufbuild/protobuf/wkt';
import { type ResponseParams, ResponseParamsSchema } from '../../../gen/parley/responses/v1/responses_pb.ts';
import { jsonCodec } from '../../codec/codec.ts';
import type { VoiceList } from '../../core/entities/engine.ts';
import { type AudioEncoding, audioEncodings } from '../../core/entities/live.ts';
import type { History, Item } from '../../core/realtime/items.ts';
import type { SessionConfig } from '../../core/realtime/live-session.ts';
import type { ResponseRequest, ResponseSettings } from '../../core/realtime/reports.ts';
import type { OfferedConversation } from '../../core/realtime/service.ts';
import { toDetection } from '../../core/realtime/transcribe-request.ts';
import type { TurnDetection } from '../../core/realtime/turn-cutter.ts';
import { isObject } from '../../core/values/json.ts';
import { invalidInput } from '../../core/values/parameters.ts';
import { readItem, requiredText, textOf } from './client-event.ts';

export interface Settings {
  /** Whether the client opened a session for transcription alone. */
  readonly isTranscription: boolean;
  readonly model: string;
  readonly language: string | undefined;
  readonly encoding: AudioEncoding;
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
    encoding: 'pcm16',
    detection: withoutDetection.test(model) ? null : serverVad,
    offered,
    responses: offered && defaultResponses(offered.voices),
  };
}

/** @throws `invalid_input` */
export function readUpdate(settings: Settings, session: unknown): Settings {
  if (!isObject(session)) throw invalidInput('session', '`session` is an object.');
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
    encoding: encodingOf(input['format']) ?? settings.encoding,
    detection: detectionOf(input['turn_detection'], settings, model),
    responses: responses && offered && readResponses(responses, session, offered.voices),
  };
}

/** A session keeps its type. One that was opened without an intent, where there are no conversations, takes either. */
export function checkType({ isTranscription, offered }: Settings, type: JsonValue | undefined): void {
  if (type === undefined || type === null) return;
  if (type !== 'realtime' && type !== 'transcription') {
    throw invalidInput('session.type', '`session.type` is `realtime` or `transcription`.');
  }
  if (type === 'transcription' ? offered === undefined : !isTranscription) return;
  throw invalidInput(
    'session.type',
    `This session is no ${type} session. Open another one${type === 'transcription' ? ' with `?intent=transcription`' : ''}.`,
  );
}

export function configOf({ encoding, language, detection }: Settings): SessionConfig {
  return { encoding, sampleRate: formats[encoding].rate, language, detection: detection ?? undefined };
}

/** The session as its events show it. */
export function sessionOf(id: string, settings: Settings): JsonObject {
  const { isTranscription, model, language, encoding, detection, responses, offered } = settings;
  const input: JsonObject = {
    format: formatJson(encoding),
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
  if (!isObject(given)) throw invalidInput('turn_detection', '`turn_detection` is an object or null.');
  const answers = given['create_response'] !== false;
  const interrupts = given['interrupt_response'] !== false;
  if (given['type'] === 'semantic_vad') {
    const silence = silences[String(given['eagerness'] ?? 'auto')];
    if (silence === undefined)
      throw invalidInput('eagerness', '`eagerness` takes low, medium, high or auto.');
    return { ...serverVad, type: 'semantic_vad', silenceMs: silence, answers, interrupts };
  }
  if (given['type'] !== undefined && given['type'] !== 'server_vad') {
    throw invalidInput('turn_detection', '`turn_detection` takes the types `server_vad` and `semantic_vad`.');
  }
  const silenceMs = Number(given['silence_duration_ms'] ?? serverVad.silenceMs);
  const prefixMs = Number(given['prefix_padding_ms'] ?? serverVad.prefixMs);
  const names = ['silence_duration_ms', 'prefix_padding_ms'] as const;
  return { type: 'server_vad', ...toDetection(silenceMs, prefixMs, names), answers, interrupts };
}

const instructionBytesMax = 65_536;
const toolBytesMax = 131_072;
const toolsMax = 128;
const inputItemsMax = 500;
const metadataBytesMax = 16_384;

const params = jsonCodec(ResponseParamsSchema);

function defaultResponses({ defaultVoice }: VoiceList): ResponseSettings {
  return {
    instructions: '',
    tools: [],
    toolChoice: undefined,
    maxOutputTokens: undefined,
    isSpoken: true,
    voice: defaultVoice,
    encoding: 'pcm16',
  };
}

/**
 * Changes the settings by what `given` has, in the form of a session or of a response, and of the beta.
 * @throws `invalid_input`
 */
function readResponses(settings: ResponseSettings, given: JsonObject, voices: VoiceList): ResponseSettings {
  const audio =
    isObject(given['audio']) && isObject(given['audio']['output']) ? given['audio']['output'] : {};
  const { tools, toolChoice } = readTools(given);
  return {
    instructions: readInstructions(given) ?? settings.instructions,
    tools: given['tools'] ? tools : settings.tools,
    toolChoice: toolChoice ?? settings.toolChoice,
    maxOutputTokens: readLimit(given, settings),
    isSpoken: readModalities(given['output_modalities'] ?? given['modalities']) ?? settings.isSpoken,
    voice: readVoice(audio['voice'] ?? given['voice'], voices) ?? settings.voice,
    encoding: encodingOf(audio['format'] ?? given['output_audio_format']) ?? settings.encoding,
  };
}

/** The request of a `response.create`. @throws `invalid_input` */
export function readRequest(
  settings: ResponseSettings,
  given: JsonValue | undefined,
  voices: VoiceList,
  history: History,
): ResponseRequest {
  const response = isObject(given) ? given : {};
  const { conversation, input, metadata = null } = response;
  if (Buffer.byteLength(JSON.stringify(metadata)) > metadataBytesMax) {
    throw invalidInput('metadata', `\`metadata\` has at most ${metadataBytesMax} bytes.`);
  }
  return {
    ...readResponses(settings, response, voices),
    isKept: conversation !== 'none',
    input: Array.isArray(input) ? readInput(input, history) : undefined,
    metadata,
  };
}

/** The settings as events show them. */
export function responsesJson(settings: ResponseSettings) {
  return {
    output_modalities: [settings.isSpoken ? 'audio' : 'text'],
    max_output_tokens: settings.maxOutputTokens ?? ('inf' as const),
    audio: { output: { format: formatJson(settings.encoding), voice: settings.voice } },
  };
}

/** Those of a session alone. */
function promptJson({ instructions, tools, toolChoice }: ResponseSettings) {
  const { tools: listed = [] } = params.encode(
    create(ResponseParamsSchema, { tools: [...tools] }),
  ) as JsonObject;
  return { instructions, tools: listed, tool_choice: toolChoice ? toJson(ValueSchema, toolChoice) : 'auto' };
}

function readInput(input: readonly JsonValue[], history: History): Item[] {
  if (input.length > inputItemsMax)
    throw invalidInput('input', `\`input\` has at most ${inputItemsMax} items.`);
  return input.map((item) =>
    isObject(item) && item['type'] === 'item_reference'
      ? history.get(requiredText(item, 'id'))
      : readItem(item),
  );
}

function readInstructions(given: JsonObject): string | undefined {
  const instructions = textOf(given, 'instructions');
  if (Buffer.byteLength(instructions ?? '') <= instructionBytesMax) return instructions;
  throw invalidInput('instructions', `\`instructions\` have at most ${instructionBytesMax} bytes.`);
}

function readTools({ tools = null, tool_choice = null }: JsonObject): ResponseParams {
  const isLong = Array.isArray(tools) && tools.length > toolsMax;
  if (isLong || Buffer.byteLength(JSON.stringify(tools)) > toolBytesMax) {
    throw invalidInput('tools', `\`tools\` has at most ${toolsMax} tools and ${toolBytesMax} bytes.`);
  }
  return params.decode({ tools, tool_choice }, () => 'invalid_input');
}

function readLimit(given: JsonObject, settings: ResponseSettings): number | undefined {
  const limit = given['max_output_tokens'] ?? given['max_response_output_tokens'];
  if (limit === undefined || limit === null) return settings.maxOutputTokens;
  if (limit === 'inf') return undefined;
  if (Number.isSafeInteger(limit) && Number(limit) > 0) return Number(limit);
  throw invalidInput('max_output_tokens', '`max_output_tokens` is a whole number above 0, or "inf".');
}

/** @returns whether responses are spoken */
function readModalities(given: JsonValue | undefined): boolean | undefined {
  if (given === undefined || given === null) return undefined;
  const isKnown = Array.isArray(given) && given.every((one) => one === 'text' || one === 'audio');
  if (isKnown && given.length > 0) return given.includes('audio');
  throw invalidInput('output_modalities', '`output_modalities` is ["audio"] or ["text"].');
}

function readVoice(given: JsonValue | undefined, { voices }: VoiceList): string | undefined {
  if (given === undefined || given === null) return undefined;
  const voice = isObject(given) ? given['id'] : given;
  if (voices.some(({ id }) => id === voice)) return String(voice);
  throw invalidInput('voice', `\`voice\` is one of ${voices.map(({ id }) => id).join(', ')}.`);
}

const formats: Readonly<Record<AudioEncoding, { readonly type: string; readonly rate: number }>> = {
  pcm16: { type: 'audio/pcm', rate: 24_000 },
  mulaw: { type: 'audio/pcmu', rate: 8_000 },
  alaw: { type: 'audio/pcma', rate: 8_000 },
};
const betaNames: Readonly<Record<AudioEncoding, string>> = {
  pcm16: 'pcm16',
  mulaw: 'g711_ulaw',
  alaw: 'g711_alaw',
};

/** @returns undefined if none is given. @throws `invalid_input` */
function encodingOf(given: JsonValue | undefined): AudioEncoding | undefined {
  if (given === undefined || given === null) return undefined;
  const encoding = audioEncodings.find((one) =>
    isObject(given) ? formats[one].type === given['type'] : betaNames[one] === given,
  );
  if (encoding === undefined)
    throw invalidInput('format', '`format` takes `audio/pcm`, `audio/pcmu` or `audio/pcma`.');
  const { type, rate } = formats[encoding];
  const wanted = (isObject(given) ? given['rate'] : undefined) ?? rate;
  if (wanted !== rate) throw invalidInput('rate', `\`${type}\` has a rate of ${rate}.`);
  return encoding;
}

function formatJson(encoding: AudioEncoding): JsonObject {
  const { type, rate } = formats[encoding];
  return encoding === 'pcm16' ? { type, rate } : { type };
}
