/** A server whose engines a test controls, and a client that talks with it over OpenAI's Realtime protocol. */
import { create } from '@bufbuild/protobuf';
import { expect } from 'vitest';
import {
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  type ChatCompletionParams,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { contentText } from '../../src/core/entities/chat-output.ts';
import type { SpeechRequest } from '../../src/core/entities/engine.ts';
import type { Signal } from '../../src/core/values/signal.ts';
import { fakeChat, fakeSpeech, fakeTranscription, withFakes } from './fake-engines.ts';
import { Ear } from './live-ear.ts';
import { type Parley, startParley } from './parley.ts';
import { RealtimeClient, type ServerEvent } from './realtime-client.ts';

interface Delta {
  readonly content?: string;
  readonly toolCalls?: readonly { index: number; id?: string; function: object }[];
}
type Answer = (params: ChatCompletionParams, signal: Signal) => AsyncIterable<Delta>;

const bytesPerMs = 48;
export const manually = { audio: { input: { turn_detection: null } } };

/** Chats as the test says, and speaks 10 ms for each character. */
export class Talk {
  readonly ear = new Ear();
  chats: ChatCompletionParams[] = [];
  spoken: SpeechRequest[] = [];
  answer: Answer = says('Yes.');
  finishReason = 'stop';
  /** Speech waits for this, with the text that it speaks. */
  speaks: (text: string) => Promise<void> = async () => undefined;

  engines() {
    const voices = ['one', 'two'].map((id) => ({ id, language: 'en' }));
    return withFakes({
      transcription: fakeTranscription({ openSpeaker: () => this.ear.openSpeaker() }),
      chat: fakeChat({ stream: (params, signal) => this.#chat(params, signal) }),
      speech: fakeSpeech({
        voices: () => ({ voices, defaultVoice: 'one' }),
        synthesize: (request) => ({ audio: this.#speak(request), durationMs: () => undefined }),
      }),
    });
  }

  reset(): void {
    this.ear.goesOn = Promise.resolve();
    Object.assign(this, { chats: [], spoken: [], answer: says('Yes.'), finishReason: 'stop' });
    this.speaks = async () => undefined;
  }

  /** The messages of the last chat, as role and text. */
  get lastPrompt(): readonly string[] {
    const { messages = [] } = this.chats.at(-1) ?? {};
    return messages.map(({ role, content }) => `${role}: ${contentText(content)}`);
  }

  async *#chat(params: ChatCompletionParams, signal: Signal): AsyncGenerator<ChatCompletionChunk> {
    this.chats.push(params);
    const { finishReason } = this;
    for await (const delta of this.answer(params, signal)) {
      signal.throwIfAborted();
      yield create(ChatCompletionChunkSchema, {
        choices: [{ index: 0, delta: { ...delta, toolCalls: [...(delta.toolCalls ?? [])] } }],
      });
    }
    yield create(ChatCompletionChunkSchema, {
      choices: [{ index: 0, delta: {}, finishReason }],
      usage: { promptTokens: 7, completionTokens: 5, totalTokens: 12 },
    });
  }

  async *#speak(request: SpeechRequest): AsyncGenerator<Uint8Array> {
    this.spoken.push(request);
    await this.speaks(request.input);
    const bytes = request.input.length * 10 * bytesPerMs;
    for (let at = 0; at < bytes; at += 12_000) yield new Uint8Array(Math.min(12_000, bytes - at));
  }
}

export function says(...texts: readonly string[]): Answer {
  return async function* () {
    for (const content of texts) yield { content };
  };
}

/** Says this, and is then silent until its client leaves. */
export function staysSilentAfter(...texts: readonly string[]): Answer {
  return async function* (_, signal) {
    for (const content of texts) yield { content };
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve());
      if (signal.aborted) resolve();
    });
    signal.throwIfAborted();
  };
}

export function startTalking(talk: Talk): Promise<Parley> {
  return startParley({ engines: talk.engines() });
}

export interface ResponseJson {
  readonly status: string;
  readonly status_details: { reason?: string; error?: { code: string } } | null;
  readonly output: readonly { id: string; status: string; content: readonly object[] }[];
  readonly usage: { input_tokens: number; output_tokens: number } | null;
}

export class TalkClient extends RealtimeClient {
  constructor(parley: Parley, key = parley.apiKey) {
    super(parley, { query: 'model=eliza-live', headers: { authorization: `Bearer ${key}` } });
  }

  say(text: string, id?: string): void {
    const content = [{ type: 'input_text', text }];
    const item = { type: 'message', role: 'user', content, ...(id && { id }) };
    this.send({ type: 'conversation.item.create', item });
  }

  async done(count = 1): Promise<ResponseJson> {
    return (await this.next('response.done', count))['response'] as ResponseJson;
  }

  /** The texts of a response, joined. */
  deltas(type: string): string {
    const parts = this.all(`response.${type}.delta`);
    return parts.map(({ delta }) => delta).join('');
  }

  get audioMs(): number {
    const parts = this.all('response.output_audio.delta').map(({ delta }) => String(delta));
    return parts.reduce((sum, part) => sum + Buffer.from(part, 'base64').length, 0) / bytesPerMs;
  }
}

export async function openTalk(
  parley: Parley,
  session: object = manually,
  key?: string,
): Promise<TalkClient> {
  const client = new TalkClient(parley, key);
  await client.configure(session);
  return client;
}

export function errorOf(event: ServerEvent) {
  return event['error'] as { code: string; message: string; event_id: string | null };
}

/** The last records of responses: speech before chats, which may begin in the same millisecond, and the newest first. */
export async function responseRecords({ app }: Parley, count: number) {
  const { items } = await app.store.usage.list({}, { size: 100, after: undefined });
  const ended = items.filter(({ operation, state }) => operation !== 'transcription' && state !== 'started');
  return ended
    .slice(0, count)
    .sort((a, b) => b.operation.localeCompare(a.operation))
    .map(({ operation, state, code, characters, tokens, fairUseUnits }) => ({
      operation,
      state,
      code,
      characters,
      tokens: tokens?.completionTokens,
      units: fairUseUnits,
    }));
}

/** Waits until nothing is held or reserved. */
export async function heldNothing(parley: Parley): Promise<void> {
  const open = async () => {
    const { accounts, units } = await parley.books();
    return [...accounts.map(({ held }) => Number(held)), ...units.map(({ reserved }) => Number(reserved))];
  };
  await expect.poll(async () => (await open()).every((amount) => amount === 0)).toBe(true);
}
