/** The settings of responses: those of a session, and those of one response. */
import { create, type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf';
import { ValueSchema } from '@bufbuild/protobuf/wkt';
import { type ResponseParams, ResponseParamsSchema } from '../../../gen/parley/responses/v1/responses_pb.ts';
import { jsonCodec } from '../../codec/codec.ts';
import type { VoiceList } from '../../core/entities/engine.ts';
import type { AudioEncoding } from '../../core/entities/live.ts';
import type { History, Item } from '../../core/realtime/items.ts';
import type { ResponseRequest, ResponseSettings } from '../../core/realtime/reports.ts';
import { isObject } from '../../core/values/json.ts';
import { invalid, readItem, requiredText, textOf } from './client-event.ts';

const instructionBytesMax = 65_536;
const toolBytesMax = 131_072;
const toolsMax = 128;
const inputItemsMax = 500;
const metadataBytesMax = 16_384;

const params = jsonCodec(ResponseParamsSchema);

export function defaultResponses({ defaultVoice }: VoiceList): ResponseSettings {
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
export function readResponses(
  settings: ResponseSettings,
  given: JsonObject,
  voices: VoiceList,
): ResponseSettings {
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
    encoding: formatOf(audio['format'] ?? given['output_audio_format'])?.encoding ?? settings.encoding,
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
    throw invalid('metadata', `\`metadata\` has at most ${metadataBytesMax} bytes.`);
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
export function promptJson({ instructions, tools, toolChoice }: ResponseSettings) {
  const { tools: listed = [] } = params.encode(
    create(ResponseParamsSchema, { tools: [...tools] }),
  ) as JsonObject;
  return { instructions, tools: listed, tool_choice: toolChoice ? toJson(ValueSchema, toolChoice) : 'auto' };
}

function readInput(input: readonly JsonValue[], history: History): Item[] {
  if (input.length > inputItemsMax) throw invalid('input', `\`input\` has at most ${inputItemsMax} items.`);
  return input.map((item) =>
    isObject(item) && item['type'] === 'item_reference'
      ? history.get(requiredText(item, 'id'))
      : readItem(item),
  );
}

function readInstructions(given: JsonObject): string | undefined {
  const instructions = textOf(given, 'instructions');
  if (Buffer.byteLength(instructions ?? '') <= instructionBytesMax) return instructions;
  throw invalid('instructions', `\`instructions\` have at most ${instructionBytesMax} bytes.`);
}

function readTools({ tools = null, tool_choice = null }: JsonObject): ResponseParams {
  const isLong = Array.isArray(tools) && tools.length > toolsMax;
  if (isLong || Buffer.byteLength(JSON.stringify(tools)) > toolBytesMax) {
    throw invalid('tools', `\`tools\` has at most ${toolsMax} tools and ${toolBytesMax} bytes.`);
  }
  const { message, error } = params.decode({ tools, tool_choice });
  if (error) throw invalid(error.path, `\`${error.path}\` must be ${error.expected}.`);
  return message;
}

function readLimit(given: JsonObject, settings: ResponseSettings): number | undefined {
  const limit = given['max_output_tokens'] ?? given['max_response_output_tokens'];
  if (limit === undefined || limit === null) return settings.maxOutputTokens;
  if (limit === 'inf') return undefined;
  if (Number.isSafeInteger(limit) && Number(limit) > 0) return Number(limit);
  throw invalid('max_output_tokens', '`max_output_tokens` is a whole number above 0, or "inf".');
}

/** @returns whether responses are spoken */
function readModalities(given: JsonValue | undefined): boolean | undefined {
  if (given === undefined || given === null) return undefined;
  const isKnown = Array.isArray(given) && given.every((one) => one === 'text' || one === 'audio');
  if (isKnown && given.length > 0) return given.includes('audio');
  throw invalid('output_modalities', '`output_modalities` is ["audio"] or ["text"].');
}

function readVoice(given: JsonValue | undefined, { voices }: VoiceList): string | undefined {
  if (given === undefined || given === null) return undefined;
  const voice = isObject(given) ? given['id'] : given;
  if (voices.some(({ id }) => id === voice)) return String(voice);
  throw invalid('voice', `\`voice\` is one of ${voices.map(({ id }) => id).join(', ')}.`);
}

export interface Format {
  readonly type: string;
  readonly rate: number;
  readonly encoding: AudioEncoding;
}

export const pcm: Format = { type: 'audio/pcm', rate: 24_000, encoding: 'pcm16' };
const formats: readonly Format[] = [
  pcm,
  { type: 'audio/pcmu', rate: 8_000, encoding: 'mulaw' },
  { type: 'audio/pcma', rate: 8_000, encoding: 'alaw' },
];
/** The names of the beta. */
const betaNames: Readonly<Record<string, string>> = {
  pcm16: 'audio/pcm',
  g711_ulaw: 'audio/pcmu',
  g711_alaw: 'audio/pcma',
};

/** @returns undefined if none is given. @throws `invalid_input` */
export function formatOf(given: JsonValue | undefined): Format | undefined {
  if (given === undefined || given === null) return undefined;
  const name = isObject(given) ? given['type'] : betaNames[String(given)];
  const known = formats.find(({ type }) => type === name);
  if (known === undefined)
    throw invalid('format', '`format` takes `audio/pcm`, `audio/pcmu` or `audio/pcma`.');
  const rate = isObject(given) ? (given['rate'] ?? known.rate) : known.rate;
  if (rate !== known.rate) throw invalid('rate', `\`${known.type}\` has a rate of ${known.rate}.`);
  return known;
}

export function formatJson(encoding: AudioEncoding): JsonObject {
  const { type, rate } = formats.find((format) => format.encoding === encoding) ?? pcm;
  return type === pcm.type ? { type, rate } : { type };
}
