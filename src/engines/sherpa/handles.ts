/** The requests of the OpenAI API as Parley sends them, and their answers. */
import { isObject } from '../../codec/shape.ts';
import { audioFormats, type TranscriptSegment } from '../../core/entities/engine.ts';
import { contentType } from '../../core/speech/content-type.ts';
import { ParleyError } from '../../core/values/errors.ts';
import type { Speak } from './speech.ts';
import type { LocalTranscript, Transcribe } from './transcription.ts';

export interface Answer {
  readonly contentType: string;
  readonly body: AsyncIterable<Uint8Array> | Iterable<string>;
}

export type Handle = (request: Request, signal: AbortSignal) => Promise<Answer>;

/** @param speakers the number of each voice in the model, by its name */
export function speechHandle(speak: Speak, speakers: ReadonlyMap<string, number>): Handle {
  return async (request, signal) => {
    const body: unknown = await request.json();
    if (!isObject(body) || typeof body['input'] !== 'string') throw new ParleyError('missing_input');
    const speaker = speakers.get(String(body['voice']));
    if (speaker === undefined) throw new ParleyError('unknown_voice');
    const format = audioFormats.find((name) => name === body['response_format']);
    if (format === undefined) throw new ParleyError('unsupported_response_format');
    const audio = speak({ input: body['input'], speaker, format }, signal);
    return { contentType: contentType(format), body: audio };
  };
}

/** @param language of a model that knows only one */
export function transcriptionHandle(transcribe: Transcribe, language: string | undefined): Handle {
  return async (request, signal) => {
    const file = (await request.formData()).get('file');
    if (!(file instanceof File)) throw new ParleyError('missing_file');
    const bytes = new Uint8Array(await file.arrayBuffer());
    const transcript = await transcribe({ bytes, name: file.name }, signal);
    return { contentType: 'application/json', body: [JSON.stringify(verbose(transcript, language))] };
  };
}

/** The form `verbose_json`, with the words of each segment in it. */
function verbose({ segments, durationMs, ...found }: LocalTranscript, language: string | undefined) {
  return {
    task: 'transcribe',
    ...((found.language ?? language) && { language: found.language ?? language }),
    duration: durationMs / 1000,
    text: segments.map(({ text }) => text).join(' '),
    segments: segments.map(verboseSegment),
  };
}

function verboseSegment({ startMs, endMs, text, words, avgLogprob }: TranscriptSegment) {
  const timed = words.map((word) => ({
    word: word.word,
    start: word.startMs / 1000,
    end: word.endMs / 1000,
  }));
  return { start: startMs / 1000, end: endMs / 1000, text, avg_logprob: avgLogprob, words: timed };
}
