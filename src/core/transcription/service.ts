import { create } from '@bufbuild/protobuf';
import * as pb from '../../../gen/parley/audio/v1/transcription_pb.ts';
import type { Call } from '../access/call.ts';
import { transcriptionUnits, unitsPerMonth } from '../billing/fair-use.ts';
import type {
  KnownSpeaker,
  TranscriptionEvent,
  TranscriptSegment,
  TranscriptWord,
} from '../entities/engine.ts';
import { messageForm } from '../idempotency/idempotency.ts';
import type { AudioDeps } from '../speech/service.ts';
import { hasLength } from '../values/bounds.ts';
import { CollectedBytes } from '../values/collected-bytes.ts';
import { ParleyError } from '../values/errors.ts';
import { present } from '../values/json.ts';
import { invalidInput, namedLanguage } from '../values/parameters.ts';

/** OpenAI's own limit. */
const speakersMax = 4;
const nameLength = { minLength: 1, maxLength: 100 };
const dataUrl = /^data:audio\/[\w.+-]+(;[^,]*)?;base64,/;

/** @throws `invalid_input`, naming the parameter */
function readKnownSpeakers(request: pb.CreateTranscriptionRequest): readonly KnownSpeaker[] {
  const { knownSpeakerNames: names, knownSpeakerReferences: references } = request;
  if (names.length > speakersMax || !names.every((name) => hasLength(name, nameLength))) {
    const message = `\`known_speaker_names\` takes at most ${speakersMax} names of 1 to ${nameLength.maxLength} characters.`;
    throw invalidInput('known_speaker_names', message);
  }
  if (references.length !== names.length) {
    const message = '`known_speaker_references` needs as many recordings as `known_speaker_names` has names.';
    throw invalidInput('known_speaker_references', message);
  }
  if (!references.every((reference) => dataUrl.test(reference))) {
    const message = '`known_speaker_references` takes data URLs such as data:audio/wav;base64,….';
    throw invalidInput('known_speaker_references', message);
  }
  return names.map((name, at) => ({ name, reference: references[at] ?? '' }));
}

/** 4 MB: the contract's limit of a transcription request. */
export const transcriptionBytesMax = 4_194_304;
/** Enough for a recording in parts of 64 bytes. Without a limit, empty messages could go on forever. */
const uploadMessagesMax = 65_536;

const granularities: readonly string[] = ['word', 'segment'];
export const listValuesMax = 1_000;

export class TranscriptionOperations {
  readonly #deps: AudioDeps;

  constructor(deps: AudioDeps) {
    this.#deps = deps;
  }

  async createTranscription(
    request: pb.CreateTranscriptionRequest,
    call: Call,
  ): Promise<pb.CreateTranscriptionResponse> {
    const recording = checked(request);
    call.metering.noteModel(this.#deps.catalog.transcriptionModel()?.id);
    const repeatable = { answerForm: messageForm(pb.CreateTranscriptionResponseSchema), request, call };
    return this.#deps.idempotency.run(repeatable, () => this.#transcribeWhole(recording, call));
  }

  /** Settles before the part with the whole transcript, which means success to the client. */
  async *streamTranscription(
    { transcription = create(pb.CreateTranscriptionRequestSchema) }: pb.StreamTranscriptionRequest,
    call: Call,
  ): AsyncGenerator<pb.StreamTranscriptionResponse> {
    const recording = checked(transcription);
    call.metering.noteModel(this.#deps.catalog.transcriptionModel()?.id);
    for await (const part of this.#transcribe(recording, call)) {
      if (part.event.case === 'transcript') await call.metering.settle();
      yield part;
    }
  }

  async uploadTranscription(
    requests: AsyncIterable<pb.UploadTranscriptionRequest>,
    call: Call,
  ): Promise<pb.UploadTranscriptionResponse> {
    const recording = checked(await collectUpload(requests));
    call.metering.noteModel(this.#deps.catalog.transcriptionModel()?.id);
    const { transcript } = await this.#transcribeWhole(recording, call);
    return create(pb.UploadTranscriptionResponseSchema, { ...(transcript && { transcript }) });
  }

  async #transcribeWhole(recording: CheckedRequest, call: Call): Promise<pb.CreateTranscriptionResponse> {
    for await (const { event } of this.#transcribe(recording, call)) {
      if (event.case !== 'transcript') continue;
      if (isWordsAlone(recording.request, call.answerForm)) event.value.segments = [];
      return create(pb.CreateTranscriptionResponseSchema, { transcript: event.value });
    }
    throw new ParleyError('upstream_error');
  }

  async *#transcribe(
    { request, audio, knownSpeakers }: CheckedRequest,
    call: Call,
  ): AsyncGenerator<pb.StreamTranscriptionResponse> {
    const { metering, signal } = call;
    const needs = needsOf(request, call.answerForm);
    const withWords = request.timestampGranularities.includes('word');
    const model = this.#deps.catalog.availableTranscriptionModel();
    if (model.engine.reportsTimes === false) refuseWithoutTimes(needs);
    if (model.engine.reportsSpeakers === false) refuseWithoutSpeakers(needs);
    if (model.engine.reportsSpeakers === true) refuseWords(needs);
    await metering.reserve({ fairUse: this.#units(0, call), audioSeconds: 0 });
    const events = model.engine.transcribe({
      audio,
      fileName: request.fileName,
      ...languageHints(request),
      keywords: request.keywords,
      prompt: request.prompt,
      temperature: request.temperature,
      needsSegments: needs.segments !== undefined,
      words: withWords,
      needsSpeakers: needs.speakers !== undefined,
      knownSpeakers,
      chunkingStrategy: request.chunkingStrategy,
      signal,
    });
    const transcript = create(pb.TranscriptSchema);
    for await (const event of refusedAs(needs, events)) {
      await this.#account(event, call);
      const part = collect(event, transcript, withWords);
      if (event.kind === 'done') checkNeeds(transcript, needs);
      if (part !== undefined) yield part;
      if (event.kind === 'done') return;
    }
    throw new ParleyError('upstream_error', { cause: new Error('the engine ended before the transcript') });
  }

  /** Reserves the units of the audio known so far: the longest length that the engine has reported. */
  async #account(event: TranscriptionEvent, call: Call): Promise<void> {
    if (event.kind === 'segment') return;
    const { metering } = call;
    const { durationMs } = event;
    if (!(durationMs >= 0 && durationMs <= Number.MAX_SAFE_INTEGER)) {
      throw new ParleyError('upstream_error', { cause: new Error(`audio of ${durationMs} ms`) });
    }
    metering.used.audioMsIn = Math.max(metering.used.audioMsIn ?? 0, durationMs);
    const { units } = this.#units(metering.used.audioMsIn, call);
    await metering.extend(units, Math.ceil(metering.used.audioMsIn / 1000));
  }

  #units(durationMs: number, { caller }: Call): { units: number; limitUnits: number } {
    const { fairUse } = this.#deps;
    const limitUnits = unitsPerMonth(fairUse, caller.entitlement);
    return { units: transcriptionUnits(fairUse, durationMs), limitUnits };
  }
}

/** @throws `missing_file`, `invalid_file` if the file is empty, `payload_too_large` */
export function checkFile({ file }: pb.CreateTranscriptionRequest): Uint8Array {
  if (file === undefined) throw new ParleyError('missing_file', { param: 'file' });
  if (file.length === 0) {
    throw new ParleyError('invalid_file', { message: 'The file is empty. Send a recording.', param: 'file' });
  }
  if (file.length > transcriptionBytesMax) throw tooLarge();
  return file;
}

export function tooLarge(): ParleyError {
  return new ParleyError('payload_too_large', {
    message: `The request is larger than 4 MB (${transcriptionBytesMax} bytes). Send a shorter or more compressed recording.`,
  });
}

export function tooManyValues(param: string): ParleyError {
  const message = `\`${param}\` has more than ${listValuesMax} values. Send fewer.`;
  return invalidInput(param, message);
}

function tooManyMessages(): ParleyError {
  return new ParleyError('invalid_request_error', {
    message: `An upload has at most ${uploadMessagesMax} messages. Send larger chunks.`,
  });
}

/** Joins the chunks of an upload. */
async function collectUpload(
  requests: AsyncIterable<pb.UploadTranscriptionRequest>,
): Promise<pb.CreateTranscriptionRequest> {
  const request = create(pb.CreateTranscriptionRequestSchema);
  let file: CollectedBytes | undefined;
  let messages = 0;
  for await (const { part } of requests) {
    messages++;
    if (messages > uploadMessagesMax) throw tooManyMessages();
    if (part.case === 'transcription') Object.assign(request, part.value);
    if (part.case !== 'chunk') continue;
    file ??= new CollectedBytes();
    if (file.length + part.value.length > transcriptionBytesMax) throw tooLarge();
    file.add(part.value);
  }
  if (file) request.file = file.bytes;
  return request;
}

interface CheckedRequest {
  readonly request: pb.CreateTranscriptionRequest;
  readonly audio: Uint8Array;
  readonly knownSpeakers: readonly KnownSpeaker[];
}

/** Checks the request before the server's own state, so that client errors are reported first. */
function checked(request: pb.CreateTranscriptionRequest): CheckedRequest {
  const audio = checkFile(request);
  checkGranularities(request.timestampGranularities);
  if (request.keywords.length > listValuesMax) throw tooManyValues('keywords');
  return { request, audio, knownSpeakers: readKnownSpeakers(request) };
}

function checkGranularities(wanted: readonly string[]): void {
  if (wanted.every((granularity) => granularities.includes(granularity))) return;
  throw invalidInput('timestamp_granularities', '`timestamp_granularities` takes `word` and `segment`.');
}

/** Adds an event to the transcript and returns the part that a streaming client gets. */
function collect(
  event: TranscriptionEvent,
  transcript: pb.Transcript,
  withWords: boolean,
): pb.StreamTranscriptionResponse | undefined {
  if (event.kind === 'audio') return undefined;
  if (event.kind === 'segment') {
    const segment = toSegment(event.segment, transcript.segments.length);
    transcript.segments.push(segment);
    if (withWords) transcript.words.push(...event.segment.words.map(toWord));
    return create(pb.StreamTranscriptionResponseSchema, { event: { case: 'segment', value: segment } });
  }
  transcript.text = event.text ?? transcript.segments.map(({ text }) => text).join(' ');
  transcript.language = event.language;
  transcript.duration = event.durationMs / 1000;
  return create(pb.StreamTranscriptionResponseSchema, { event: { case: 'transcript', value: transcript } });
}

function toSegment(segment: TranscriptSegment, id: number): pb.TranscriptSegment {
  const { avgLogprob, speaker, details: { tokens = [], ...measures } = {} } = segment;
  return create(pb.TranscriptSegmentSchema, {
    id,
    start: segment.startMs / 1000,
    end: segment.endMs / 1000,
    text: segment.text,
    tokens: [...tokens],
    ...present({ avgLogprob, speaker, ...measures }),
  });
}

function toWord({ word, startMs, endMs }: TranscriptWord): pb.TranscriptWord {
  return create(pb.TranscriptWordSchema, { word, start: startMs / 1000, end: endMs / 1000 });
}

/** A list of one is the same as `language`, which more engines understand. */
function languageHints({ language, languages }: pb.CreateTranscriptionRequest) {
  const [only, ...others] = languages.filter((each) => namedLanguage(each) !== undefined);
  const named = namedLanguage(language);
  return only === undefined || others.length === 0
    ? { language: named ?? only }
    : { language: named, languages: [only, ...others] };
}

interface TranscriptNeeds {
  /** The parameter that asks for segment times; undefined if none does. */
  readonly segments: 'response_format' | 'timestamp_granularities' | undefined;
  readonly words: boolean;
  /** The parameter that asks for speakers; undefined if none does. */
  readonly speakers: 'response_format' | 'speakers' | 'known_speaker_names' | undefined;
}

/**
 * @param answerForm the form of the answer over REST, undefined over RPC. `srt` and `vtt` need segment times; only
 * `verbose_json` shows word times, and it does without segment times, as SDKs request them by habit. Over RPC a client
 * that requests times needs them
 */
export function needsOf(
  { timestampGranularities: named, speakers: asked, knownSpeakerNames }: pb.CreateTranscriptionRequest,
  answerForm: string | undefined,
): TranscriptNeeds {
  const param = answerForm === undefined ? 'speakers' : 'response_format';
  const speakers = asked ? param : knownSpeakerNames.length > 0 ? 'known_speaker_names' : undefined;
  if (answerForm === undefined) {
    const segments = named.includes('segment') ? 'timestamp_granularities' : undefined;
    return { segments, words: named.includes('word'), speakers };
  }
  const isSubtitles = answerForm === 'srt' || answerForm === 'vtt';
  return {
    segments: isSubtitles ? 'response_format' : undefined,
    words: answerForm === 'verbose_json' && named.includes('word'),
    speakers,
  };
}

/** Whether an answer over RPC has no segments, as the request names the times of words alone. */
export function isWordsAlone(
  { timestampGranularities: named }: pb.CreateTranscriptionRequest,
  answerForm: string | undefined,
): boolean {
  return answerForm === undefined && named.includes('word') && !named.includes('segment');
}

const noTimes = {
  response_format:
    'The transcription model reports no times, which `srt` and `vtt` need. Use `json`, `text` or `verbose_json`.',
  timestamp_granularities: 'The transcription model reports no times. Leave out `timestamp_granularities`.',
} as const;
const noWords =
  'The transcription model reports no times of words. Leave `word` out of `timestamp_granularities`.';

const noSpeakers = 'The transcription model identifies no speakers.';

/** Refuses a request for speakers before it runs, if the model identifies none. */
export function refuseWithoutSpeakers({ speakers: param }: TranscriptNeeds): void {
  if (param === undefined) return;
  const isFormat = param === 'response_format';
  throw new ParleyError(isFormat ? 'unsupported_response_format' : 'invalid_input', {
    message: `${noSpeakers} ${isFormat ? 'Use another format than `diarized_json`' : `Leave out \`${param}\``}.`,
    param,
  });
}

/** Refuses a request for times of words before it runs, if the model reports none. */
export function refuseWords({ words }: TranscriptNeeds): void {
  if (words) throw new ParleyError('invalid_input', { message: noWords, param: 'timestamp_granularities' });
}

/** Refuses a request for times before it runs, if the model reports none. */
export function refuseWithoutTimes(needs: TranscriptNeeds): void {
  const { segments: param } = needs;
  if (param !== undefined) {
    const code = param === 'response_format' ? 'unsupported_response_format' : 'invalid_input';
    throw new ParleyError(code, { message: noTimes[param], param });
  }
  refuseWords(needs);
}

/** Refuses in the client's terms if only the engine, which is another server, knows what its model does not report. */
export async function* refusedAs<T>(needs: TranscriptNeeds, events: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* events;
  } catch (error) {
    const param = error instanceof ParleyError ? error.param : undefined;
    if (param === 'timestamp_granularities') refuseWithoutTimes(needs);
    if (param === 'speakers' || param === 'known_speaker_names') refuseWithoutSpeakers(needs);
    throw error;
  }
}

/** @throws `upstream_error` if the model omitted required times or speakers; silence has none */
export function checkNeeds({ text, segments, words }: pb.Transcript, needs: TranscriptNeeds): void {
  if (text === '') return;
  if (needs.segments !== undefined && segments.length === 0)
    throw new ParleyError('upstream_error', { message: noTimes[needs.segments], param: needs.segments });
  const isUnnamed = segments.length === 0 || segments.some(({ speaker }) => speaker === undefined);
  if (needs.speakers !== undefined && isUnnamed)
    throw new ParleyError('upstream_error', { message: noSpeakers });
  if (needs.words && words.length === 0) throw new ParleyError('upstream_error', { message: noWords });
}
