/**
 * Engines that follow a script in the text of a request, so that every failure can occur on any wire and on any server
 * that runs them: `play: say one two; fail upstream_error 429 7`.
 */

import { create, toJson } from '@bufbuild/protobuf';
import {
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
  ChatCompletionSchema,
  type ChatMessage,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import type { TranscriptionEvent } from '../../src/core/entities/engine.ts';
import { type ErrorCode, errorTable, ParleyError } from '../../src/core/values/errors.ts';
import type { Signal } from '../../src/core/values/signal.ts';
import type { EngineSet } from '../../src/engines/engine-set.ts';
import { wavHeader } from '../support/audio-files.ts';
import { fakeChat, fakeSpeech, fakeTranscription, withFakes } from '../support/fake-engines.ts';

/**
 * - `say <words>`: a piece of output
 * - `hear <ms>`: the least length of a recording
 * - `fail <code> [<upstream status> [<seconds to wait>]]`, `crash`: an error of the table, an unforeseen one
 * - `wait`: works on until it is stopped; `break off`: ends as if cut
 * - `unnamed`: a chat without id, object and time of creation
 */
export type Step =
  | `say ${string}`
  | `hear ${number}`
  | `fail ${string}`
  | 'crash'
  | 'wait'
  | 'break off'
  | 'unnamed';

export function play(...steps: readonly Step[]): string {
  return `play: ${steps.join('; ')}`;
}

/** Bytes per second of a recording: so few that an hour fits into an upload. */
const recordingRate = 500;
/** The length of each piece of speech. */
const pieceMs = 250;

/** A valid recording whose samples are the script. */
export function recording(...steps: readonly Step[]): Buffer {
  const script = play(...steps);
  const dataBytes = (lengthMs(script) * recordingRate) / 1000;
  const header = wavHeader({ channels: 1, sampleRate: recordingRate, bitsPerSample: 8, dataBytes });
  return Buffer.concat([header, Buffer.from(script)], header.length + dataBytes);
}

/** The length of the recording: the longest of the script's bytes, of the stated lengths, and of the pieces that it says. */
function lengthMs(script: string): number {
  const heard = [...script.matchAll(/\bhear (\d+)/g)].map(([, ms]) => Number(ms));
  const said = [...script.matchAll(/\bsay /g)].length * pieceMs;
  return Math.max((Buffer.byteLength(script) * 1000) / recordingRate, said, ...heard);
}

/** A secret that must never reach a client. */
export const secret = 'a secret of the engine';

const usage = { promptTokens: 7, completionTokens: 3, totalTokens: 10 };

type Output = { readonly said: string } | 'broken off';

async function* run(script: string, signal: Signal): AsyncGenerator<Output> {
  const steps = script.replace(/^play: /, '').split('; ');
  for (const step of steps) {
    const [verb = '', ...words] = step.split(' ');
    if (verb === 'say') yield { said: words.join(' ') };
    if (verb === 'fail') throw failure(words);
    if (verb === 'crash') throw new Error(secret);
    if (verb === 'wait') await untilStopped(signal);
    if (verb === 'break') yield 'broken off';
  }
}

function failure([code = '', status, retryAfter]: readonly string[]): ParleyError {
  if (!(code in errorTable)) throw new Error(`${code} is no code of the table`);
  return new ParleyError(code as ErrorCode, {
    ...(status !== undefined && status !== '-' && { httpStatus: Number(status) }),
    ...(retryAfter !== undefined && { retryAfterSeconds: Number(retryAfter) }),
    cause: new Error(secret),
  });
}

function untilStopped(signal: Signal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
  });
}

/** Audio whose bytes are the words. */
async function* speak(script: string, signal: Signal): AsyncGenerator<Uint8Array> {
  for await (const output of run(script, signal)) {
    if (output !== 'broken off') yield Buffer.from(output.said);
  }
}

/** @param file a recording, or its script alone */
async function* transcribe(file: Uint8Array, signal: Signal): AsyncGenerator<TranscriptionEvent> {
  const content = Buffer.from(file).toString();
  const script = content.slice(Math.max(content.indexOf('play: '), 0)).replace(/\0+$/, '');
  yield { kind: 'audio', durationMs: lengthMs(script) };
  let endMs = 0;
  for await (const output of run(script, signal)) {
    if (output === 'broken off') return;
    const startMs = endMs;
    endMs += pieceMs;
    const words = [{ word: output.said, startMs, endMs }];
    yield { kind: 'segment', segment: { startMs, endMs, text: output.said, words, avgLogprob: -0.5 } };
  }
  yield { kind: 'done', durationMs: endMs, language: 'english' };
}

async function* chat(params: ChatCompletionParams, signal: Signal): AsyncGenerator<ChatCompletionChunk> {
  const script = textOf(params.messages.at(-1));
  const head = script.includes('unnamed')
    ? {}
    : { id: 'chat-1', object: 'chat.completion.chunk', created: 1n };
  yield chunk(head, { delta: { role: 'assistant' } });
  for await (const output of run(script, signal)) {
    if (output === 'broken off') return;
    yield chunk(head, { delta: { content: output.said } });
  }
  yield {
    ...chunk(head, { delta: {}, finishReason: 'stop' }),
    usage: create(ChatCompletionChunkSchema, { usage }).usage,
  };
}

function chunk(head: object, choice: object): ChatCompletionChunk {
  return create(ChatCompletionChunkSchema, { ...head, choices: [choice] });
}

/** The whole answer at once. It also contains the parameters that reached the engine. */
async function complete(params: ChatCompletionParams, signal: Signal) {
  const chunks: ChatCompletionChunk[] = [];
  for await (const piece of chat(params, signal)) chunks.push(piece);
  const said = chunks.map(({ choices }) => choices[0]?.delta?.content ?? '').join('');
  const { id = '', created = 0n } = chunks.at(-1) ?? {};
  const finishReason = chunks.at(-1)?.choices[0]?.finishReason;
  const message = { role: 'assistant', content: { value: { case: 'text', value: said } as const } };
  return create(ChatCompletionSchema, {
    id,
    object: id && 'chat.completion',
    created,
    usage,
    choices: [{ message, ...(finishReason !== undefined && { finishReason }) }],
    other: { seen: toJson(ChatCompletionParamsSchema, params) },
  });
}

function textOf(message: ChatMessage | undefined): string {
  const value = message?.content?.value;
  return value?.case === 'text' ? value.value : '';
}

/** The engines that replace the builtin ones. */
export function playingEngines(): Record<string, EngineSet> {
  return withFakes({
    speech: fakeSpeech({
      synthesize: ({ input }, signal) => ({ audio: speak(input, signal), durationMs: () => 1500 }),
    }),
    transcription: fakeTranscription({ transcribe: ({ audio, signal }) => transcribe(audio, signal) }),
    chat: fakeChat({ stream: chat, complete }),
  });
}
