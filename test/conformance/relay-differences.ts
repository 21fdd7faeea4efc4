/** Differences between Parley in front of Parley and Parley alone, with the reasons. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { TranscriptionService } from '../../gen/parley/audio/v1/transcription_service_pb.ts';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import { CompletionsService } from '../../gen/parley/completions/v1/completions_service_pb.ts';
import { MessagesService } from '../../gen/parley/messages/v1/messages_service_pb.ts';
import { ResponsesService } from '../../gen/parley/responses/v1/responses_service_pb.ts';
import { SpeechService } from '../../gen/parley/speech/v1/speech_service_pb.ts';
import { ParleyError } from '../../src/core/values/errors.ts';
import type { Case } from './case.ts';
import type { Observation } from './observation.ts';
import type { RelayKind } from './relay.ts';

interface Difference {
  readonly why: string;
  readonly on: readonly RelayKind[];
  readonly of: (row: Case) => boolean;
  /** Changes the observation of Parley alone, after the earlier differences, into the expected one. */
  readonly change: (alone: Observation) => Observation;
}

/** Differences in the order in which they apply. */
export function differencesOf(row: Case, kind: RelayKind): Difference[] {
  return differences.filter(({ on, of }) => on.includes(kind) && of(row));
}

const both: readonly RelayKind[] = ['remote', 'openai'];

const isSpeech = ({ request }: Case) => request.method === SpeechService.method.synthesizeSpeech;
const isStreamedResponse = ({ request }: Case) => request.method === ResponsesService.method.streamResponse;
const isStreamedChat = (row: Case) =>
  row.request.method === ChatService.method.streamChatCompletion ||
  row.request.method === CompletionsService.method.streamCompletion ||
  row.request.method === MessagesService.method.streamMessage ||
  isStreamedResponse(row);
const isStreamedTranscription = ({ request }: Case) =>
  request.method === TranscriptionService.method.streamTranscription;
const isIn =
  (...codes: readonly string[]) =>
  ({ error }: Case) =>
    error !== undefined && codes.includes(error.code);
const isGivenUpInTheMiddle = (row: Case) =>
  isIn('deadline_exceeded')(row) && row.what.includes('in the middle');

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null;

/** Changes members of the error, if there is one that has them. */
function withError(seen: Observation, members: JsonObject): Observation {
  const { error } = seen;
  if (!isObject(error)) return seen;
  const known = Object.entries(members).filter(([name]) => name in error);
  return { ...seen, error: { ...error, ...Object.fromEntries(known) } };
}

/** Changes members of each record. A member that is undefined is left out. */
function withRecords(
  seen: Observation,
  members: Readonly<Record<string, JsonValue | undefined>>,
): Observation {
  const records = seen.records.map((record): JsonValue => {
    const all: [string, JsonValue | undefined][] = Object.entries({
      ...(isObject(record) && record),
      ...members,
    });
    return Object.fromEntries(all.filter((entry): entry is [string, JsonValue] => entry[1] !== undefined));
  });
  return { ...seen, records };
}

const failed = 'The engine behind this model failed. Try again.';

/** A failure of the inner server, whose status is kept. */
function asUpstreamError(seen: Observation, message: string): Observation {
  const code = 'upstream_error';
  const httpStatus = Number(isObject(seen.error) ? seen.error['httpStatus'] : 502);
  const { grpcCode: grpc } = new ParleyError(code, { httpStatus });
  return withRecords(withError(seen, { code, grpc, message }), { code });
}

const failures: Difference[] = [
  {
    why: 'an engine without room is another server without room: its 503 and its Retry-After are an upstream’s',
    on: both,
    of: (row) => row.server === 'playing' && isIn('overloaded')(row),
    change: (seen) => asUpstreamError(seen, 'The engine behind this model is busy. Wait, then try again.'),
  },
  {
    why: 'a fault of the inner server is not one of the outer',
    on: both,
    of: isIn('internal_error'),
    change: (seen) => asUpstreamError(seen, failed),
  },
  {
    why: 'an error within a stream of server-sent events has no status',
    on: both,
    of: (row) => isStreamedChat(row) && isIn('upstream_error', 'overloaded', 'internal_error')(row),
    change: (seen) => withRecords(seen, { http_status: 502 }),
  },
  {
    why: 'so that the last event of a response only tells that the engine failed',
    on: both,
    of: (row) => isStreamedResponse(row) && isIn('upstream_error', 'internal_error')(row),
    change: (seen) =>
      withFailedEvent(seen, 'The engine behind this model failed on this request. Try again.'),
  },
];

/** A streamed response whose last event reports a failed engine. */
function withFailedEvent(seen: Observation, message: string): Observation {
  const { answer } = seen;
  if (!Array.isArray(answer)) return seen;
  const { event } = answer.at(-1) as { event: { response: object } };
  const error = { code: 'server_error', message, reason: 'upstream_error' };
  const last = { event: { ...event, response: { ...event.response, error } } };
  return { ...seen, answer: [...answer.slice(0, -1), last] };
}

const refusals: Difference[] = [
  {
    why: 'whether a text can be said only the inner server knows, so that it is asked after the request was admitted',
    on: both,
    of: ({ what }) => what === 'invalid_input: speech of what cannot be said',
    change: (seen) => withRecords(seen, { characters: 3, fair_use_units: 0 }),
  },
  {
    why: 'the codes of any OpenAI-compatible server are its own: what it refuses is its error',
    on: ['openai'],
    of: ({ what }) => what === 'invalid_input: speech of what cannot be said',
    change: (seen) => withRecords(withoutParam(asUpstreamError(seen, failed)), { state: 'failed' }),
  },
];

function withoutParam(seen: Observation): Observation {
  return { ...seen, error: { ...(isObject(seen.error) && seen.error), param: undefined } };
}

/** The messages of the `openai` engine for each status of an upstream. */
const wordsOfStatus: Readonly<Record<number, string>> = {
  400: 'The model refused the request. Check its fields against those that the model accepts.',
  401: 'The engine behind this model does not accept the key of this server. Only the operator of this server can fix that.',
  402: 'The engine behind this model has no credits left for this server. Only the operator of this server can fix that.',
  403: 'The engine behind this model does not accept the key of this server. Only the operator of this server can fix that.',
  404: 'The engine behind this model does not know the model name that this server uses for it. Only the operator of this server can fix that.',
  408: 'The engine behind this model did not finish in time. Try again, or ask for less.',
  422: 'The model refused the request. Check its fields against those that the model accepts.',
  429: 'The engine behind this model has had too many requests. Wait, then try again.',
  500: 'The engine behind this model failed. Try again.',
  502: 'The engine behind this model failed. Try again.',
  503: 'The engine behind this model is busy. Wait, then try again.',
};

/** Of the inner server, as opposed to a refusal or a limit of the outer one. */
const isOfTheInner = ({ server }: Case) => server === 'playing';

const wording: Difference[] = [
  {
    why: 'the failure of an OpenAI-compatible server is told by its status, which is all that it says for sure',
    on: both,
    of: (row) => isIn('upstream_error', 'overloaded', 'internal_error')(row) && isOfTheInner(row),
    change: byStatus,
  },
  {
    why: 'so is what it refuses',
    on: ['openai'],
    of: ({ what }) => what === 'invalid_input: speech of what cannot be said',
    change: byStatus,
  },
];

function byStatus(seen: Observation): Observation {
  const status = isObject(seen.error) ? Number(seen.error['httpStatus']) : 0;
  return withError(seen, { message: wordsOfStatus[status] ?? 'no words for this status' });
}

const lengths: Difference[] = [
  {
    why: 'compressed speech does not tell its length without being decoded',
    on: both,
    of: ({ answer }) => isObject(answer) && compressed.has(answer['contentType']),
    change: (seen) => withRecords(seen, { audio_seconds_out: undefined }),
  },
  {
    why: 'the length of speech is counted from its bytes: what a playing engine claims of a few letters is not heard of',
    on: both,
    of: (row) =>
      isSpeech(row) && (row.error?.afterOutput === true || (row.server === 'strict' && !row.error)),
    change: (seen) => withRecords(seen, { audio_seconds_out: 0 }),
  },
  {
    why: 'of speech that comes to nothing the inner server tells nothing at all',
    on: both,
    of: ({ what }) => what === 'upstream_error: speech that comes to nothing',
    change: (seen) => withRecords(seen, { audio_seconds_out: undefined }),
  },
];

const compressed: ReadonlySet<unknown> = new Set(['audio/mpeg', 'audio/ogg', 'audio/flac']);

const unsent = { first_output_ms: undefined, audio_seconds_out: undefined };

const heldBack: Difference[] = [
  {
    why: 'the first bytes of an OpenAI-compatible server are held until they are enough to be known for audio',
    on: both,
    of: (row) => isSpeech(row) && row.error?.afterOutput === true,
    change: (seen) => withRecords(seen, unsent),
  },
  {
    why: 'so that a client that has left in their middle has had nothing',
    on: both,
    of: (row) => isSpeech(row) && isGivenUpInTheMiddle(row),
    change: (seen) => withRecords(seen, { fair_use_units: 0 }),
  },
  {
    why: 'over REST a transcript comes whole: a client that has left before has had nothing',
    on: both,
    of: (row) => isStreamedTranscription(row) && isGivenUpInTheMiddle(row),
    change: (seen) => ({ ...withRecords(seen, { ...unsent, fair_use_units: 0 }), answer: [] }),
  },
  {
    why: 'and one that stays until it breaks off has had nothing either',
    on: both,
    of: (row) => isStreamedTranscription(row) && row.error?.afterOutput === true,
    change: (seen) => ({ ...withRecords(seen, unsent), answer: [] }),
  },
];

export const differences: readonly Difference[] = [
  ...failures,
  ...refusals,
  ...wording,
  ...lengths,
  ...heldBack,
];
