/** A server in this process for commands that call one. Its engines follow instructions in their input. */

import { create } from '@bufbuild/protobuf';
import { afterAll, beforeEach } from 'vitest';
import {
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  type ChatCompletionParams,
  ChatCompletionSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import type {
  SpeechRequest,
  TranscriptionEvent,
  TranscriptionRequest,
} from '../../src/core/entities/engine.ts';
import { ParleyError } from '../../src/core/values/errors.ts';
import type { Signal } from '../../src/core/values/signal.ts';
import { type Folder, type RunOptions, scratchFolder } from './command-line.ts';
import { fakeChat, fakeSpeech, fakeTranscription, withFakes } from './fake-engines.ts';
import { type Parley, startParley } from './parley.ts';

/** Requests to the engines in the current test, and the highest number of recordings at once. */
export const asked = {
  speech: [] as SpeechRequest[],
  chats: [] as ChatCompletionParams[],
  recordings: 0,
  atOnce: 0,
  most: 0,
  /** Ends the `held` recordings. */
  release: Promise.withResolvers<void>(),
};

/** Audio in three parts. The text may contain `breaks`, to fail after the first part, or `stalls`, to never continue. */
async function* audioOf({ input }: SpeechRequest, signal: Signal): AsyncGenerator<Uint8Array> {
  yield Buffer.from('one ');
  if (input.includes('breaks')) throw new ParleyError('upstream_error');
  if (input.includes('stalls')) await new Promise((_, reject) => signal.addEventListener('abort', reject));
  yield Buffer.from('two ');
  yield Buffer.from('three');
}

/** The bytes of the recording are its transcript. A number at their start is a delay in milliseconds. */
async function* transcriptOf({
  audio,
  fileName,
  language,
}: TranscriptionRequest): AsyncGenerator<TranscriptionEvent> {
  const text = Buffer.from(audio).toString();
  asked.recordings++;
  asked.most = Math.max(asked.most, ++asked.atOnce);
  await new Promise((resolve) => setTimeout(resolve, Number.parseInt(text, 10) || 0));
  asked.atOnce--;
  if (text.includes('broken')) throw new ParleyError('invalid_file');
  if (text.includes('untimed')) return yield { kind: 'done', durationMs: 1500, language: 'english', text };
  const words = [{ word: fileName ?? '', startMs: 0, endMs: 500 }];
  yield {
    kind: 'segment',
    segment: {
      startMs: 0,
      endMs: 1500,
      text: `${text} ${language ?? ''}`.trim(),
      words,
      avgLogprob: undefined,
    },
  };
  if (text.includes('held')) await asked.release.promise;
  yield { kind: 'done', durationMs: 1500, language: 'english' };
}

const usage = { promptTokens: 3, completionTokens: 2, totalTokens: 5 };

function chunk(parts: object): ChatCompletionChunk {
  return create(ChatCompletionChunkSchema, {
    id: 'chat-1',
    object: 'chat.completion.chunk',
    model: 'eliza',
    ...parts,
  });
}

function lastMessage({ messages }: ChatCompletionParams): string {
  const value = messages.at(-1)?.content?.value;
  return value?.case === 'text' ? value.value : '';
}

/** Answers with the number of the message, and with the message again, word by word. */
async function* chatOf(params: ChatCompletionParams, signal: Signal): AsyncGenerator<ChatCompletionChunk> {
  asked.chats.push(params);
  const message = lastMessage(params);
  if (message.includes('refuse')) throw new ParleyError('upstream_error');
  for (const content of [`${params.messages.length}:`, ...message.split(' ').map((word) => ` ${word}`)]) {
    yield chunk({ choices: [{ index: 0, delta: { content } }] });
  }
  if (message.includes('breaks')) throw new ParleyError('upstream_error');
  if (message.includes('stalls')) await new Promise((_, reject) => signal.addEventListener('abort', reject));
  yield chunk({ choices: [{ index: 0, delta: {}, finishReason: 'stop' }], usage });
}

function forget(): void {
  asked.speech.length = 0;
  asked.chats.length = 0;
  Object.assign(asked, { recordings: 0, atOnce: 0, most: 0, release: Promise.withResolvers<void>() });
}

interface CalledServer {
  readonly server: Parley;
  /** The working folder of the commands. */
  readonly folder: Folder;
  /** The commands find the server and the key in their environment. */
  readonly options: RunOptions;
}

/** Starts the server for the tests of a file, and closes it after them. */
export async function startCalledServer(): Promise<CalledServer> {
  const folder = scratchFolder();
  const server = await startParley({
    engines: withFakes({
      speech: fakeSpeech({
        synthesize: (request, signal) => {
          asked.speech.push(request);
          return { audio: audioOf(request, signal), durationMs: () => 1000 };
        },
      }),
      transcription: fakeTranscription({ transcribe: transcriptOf }),
      chat: fakeChat({
        stream: chatOf,
        complete: async (params) =>
          create(ChatCompletionSchema, {
            id: 'chat-1',
            object: 'chat.completion',
            model: 'eliza',
            usage,
            choices: [
              {
                index: 0,
                finishReason: 'stop',
                message: {
                  role: 'assistant',
                  content: { value: { case: 'text', value: lastMessage(params) } },
                },
              },
            ],
          }),
      }),
    }),
  });
  afterAll(async () => {
    await server.close();
    folder.remove();
  });
  beforeEach(forget);
  const env = { PARLEY_BASE_URL: server.baseUrl, PARLEY_API_KEY: server.apiKey };
  return { server, folder, options: { cwd: folder.path, env } };
}
