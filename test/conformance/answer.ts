/** Compares answers across wires, without ids, times and the division into parts. */
import { createHash } from 'node:crypto';
import { create, fromBinary, type JsonValue, type Message, toBinary, toJson } from '@bufbuild/protobuf';
import { RivaSpeechRecognition } from '../../gen/nvidia/riva/asr/riva_asr_pb.ts';
import {
  type StreamTranscribeResponse,
  StreamTranscribeResponseSchema,
} from '../../gen/parley/audio/v1/live_pb.ts';
import {
  type CreateTranscriptionResponse,
  CreateTranscriptionResponseSchema,
  type StreamTranscriptionResponse,
} from '../../gen/parley/audio/v1/transcription_pb.ts';
import { TranscriptionService } from '../../gen/parley/audio/v1/transcription_service_pb.ts';
import type { SynthesizeSpeechResponse } from '../../gen/parley/speech/v1/speech_pb.ts';
import { SpeechService } from '../../gen/parley/speech/v1/speech_service_pb.ts';
import type { Method } from './wire.ts';

export function answerOf(method: Method, messages: readonly Message[]): unknown {
  switch (method) {
    case SpeechService.method.synthesizeSpeech:
      return audioOf(messages as readonly SynthesizeSpeechResponse[]);
    case TranscriptionService.method.streamTranscription:
      return (messages as readonly StreamTranscriptionResponse[]).map(({ event }) =>
        event.case === undefined ? event : { [event.case]: event.value.text },
      );
    case TranscriptionService.method.streamTranscribe:
      return (messages as readonly StreamTranscribeResponse[]).flatMap((message) =>
        // How often a text grows depends on the pace of the machine.
        message.event.case === 'partial'
          ? []
          : withoutChance(toJson(StreamTranscribeResponseSchema, message)),
      );
    case TranscriptionService.method.createTranscription:
    case TranscriptionService.method.uploadTranscription:
      return (messages as readonly CreateTranscriptionResponse[]).map((message) =>
        withoutChance(toJson(CreateTranscriptionResponseSchema, withoutDetails(message))),
      );
    case RivaSpeechRecognition.method.recognize:
      // JSON has more digits than a float.
      return messages.map((message) =>
        withoutChance(toJson(method.output, fromBinary(method.output, toBinary(method.output, message)))),
      );
    default:
      return messages.map((message) => withoutChance(toJson(method.output, message)));
  }
}

/** Leaves out the members that `verbose_json` always has in segments, and a message that an upstream did not report. */
function withoutDetails({ transcript }: CreateTranscriptionResponse): CreateTranscriptionResponse {
  const segments = transcript?.segments.map(({ id, start, end, text, avgLogprob }) => ({
    $typeName: 'parley.audio.v1.TranscriptSegment' as const,
    id,
    start,
    end,
    text,
    tokens: [],
    ...(avgLogprob !== undefined && { avgLogprob }),
  }));
  return create(CreateTranscriptionResponseSchema, {
    ...(transcript && segments && { transcript: { ...transcript, segments } }),
  });
}

/** Joins the parts, as each wire may divide them differently. */
function audioOf(parts: readonly SynthesizeSpeechResponse[]) {
  const audio = Buffer.concat(parts.map((part) => part.audio));
  const sha256 = createHash('sha256').update(audio).digest('hex');
  return { contentType: parts[0]?.contentType, bytes: audio.length, sha256 };
}

/** Members whose values differ between calls. */
const chance: ReadonlySet<string> = new Set([
  ...['created', 'created_at', 'started_at', 'ends_at', 'resets_at', 'expires_at', 'revoked_at'],
  ...['suspended_at', 'deleted_at', 'last_used_at', 'delivered_at', 'next_attempt_at'],
  ...['first_output_ms', 'duration_ms', 'last_four', 'secret', 'wire', 'next_page_token'],
  // The bytes of the message on the wire bound the prompt.
  'reserved_nano_credits',
]);

const chanceTexts: readonly (readonly [RegExp, string])[] = [
  [/\b(acc|key|req|led|aud|alr)_[0-9a-f]{32}\b/g, '<$1>'],
  [/\bpi_[0-9a-z]{57}\b/g, '<invitation>'],
  [/\bchatcmpl-[0-9a-f]{32}\b/g, '<chat>'],
  [/\bcmpl-[0-9a-f]{32}\b/g, '<completion>'],
  [/\b(resp|msg|rs|fc|call)_[0-9a-f]{32}(_\d+)?\b/g, '<$1>'],
  [/\bconformance-[\d-]+/g, '<account>'],
  [/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>'],
  [/\bin \d+ seconds?\b/g, 'in <time>'],
];

/** The same JSON, with a mark for each random value. */
export function withoutChance(json: JsonValue): JsonValue {
  if (typeof json === 'string') {
    return chanceTexts.reduce((text, [pattern, mark]) => text.replace(pattern, mark), json);
  }
  if (Array.isArray(json)) return json.map(withoutChance);
  if (typeof json !== 'object' || json === null) return json;
  const members = Object.entries(json).map(([name, value]): [string, JsonValue] => [
    name,
    chance.has(name) ? '<chance>' : withoutChance(value),
  ]);
  return Object.fromEntries(members);
}
