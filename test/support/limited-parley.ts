/** A server whose tests decide the cost of its chats, and keys with limits. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { LimitsSchema } from '../../gen/parley/account/v1/limits_pb.ts';
import * as pb from '../../gen/parley/admin/v1/admin_pb.ts';
import { ChatCompletionSchema, UsageSchema } from '../../gen/parley/chat/v1/chat_pb.ts';
import * as keyPb from '../../gen/parley/management/v1/management_pb.ts';
import { cliCall } from '../../src/core/access/call.ts';
import { fakeChat, fakeSpeech, fakeTranscription, withFakes } from './fake-engines.ts';
import { bearer, type Parley, type ParleyOptions, startParley, TestClock } from './parley.ts';

/** A prompt token costs nothing, an answer token one credit: a chat of one token holds and costs one credit. */
const settings = `
models:
  - {id: m, type: chat, engine: builtin, price: {input: 0, output: 1000000}, contextTokens: 100000, outputTokensMax: 1000}
  - {id: free-1, type: chat, engine: builtin, price: {input: 0, output: 0}, contextTokens: 100000, outputTokensMax: 1000}
  - {id: voice, type: speech, engine: builtin}
  - {id: ear, type: transcription, engine: builtin}
`;

export type WantedLimits = MessageInitShape<typeof LimitsSchema>;

export interface LimitedParley extends Parley {
  readonly clock: TestClock;
  /** The next steps of the engines. */
  readonly engine: LimitedEngine;
  /** A new key of the account. */
  keyWith(limits: WantedLimits): Promise<LimitedKey>;
  setAccountLimits(limits: WantedLimits): Promise<void>;
}

export interface LimitedKey {
  readonly id: string;
  readonly secret: string;
  /** A chat whose answer has at most `maxTokens`; undefined: as many as the model produces. */
  chat(maxTokens?: number, model?: string): Promise<Response>;
  speak(input: string): Promise<Response>;
  transcribe(): Promise<Response>;
}

export interface LimitedEngine {
  promptTokens: number;
  /** Tokens of an answer; undefined: as many as the client allows. */
  completionTokens: number | undefined;
  /** The text of an answer. */
  text: string;
  /** Seconds of a recording. */
  seconds: number;
  /** Delays chats until it resolves. */
  goesOn: Promise<unknown>;
  fails: boolean;
  /** Output limits that the model received. */
  readonly outputLimits: (number | undefined)[];
  running: number;
}

export async function startLimited(
  options: ParleyOptions & { readonly clock?: TestClock } = {},
): Promise<LimitedParley> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-limits-'));
  const file = join(folder, 'parley.yaml');
  writeFileSync(file, settings);
  const engine: LimitedEngine = {
    promptTokens: 1,
    completionTokens: undefined,
    text: 'a',
    seconds: 1,
    goesOn: Promise.resolve(),
    fails: false,
    outputLimits: [],
    running: 0,
  };
  const clock = options.clock ?? new TestClock();
  const parley = await startParley({ file, clock, engines: enginesOf(engine), ...options });
  const { accounts } = parley.app.services;
  return {
    ...parley,
    clock,
    engine,
    keyWith: async (limits) => {
      const request = { accountId: parley.accountId, name: 'limited', limits };
      const { key, secret } = await accounts.createKey(
        create(keyPb.CreateKeyRequestSchema, request),
        cliCall,
      );
      return limitedKey(parley, key?.id ?? '', secret);
    },
    setAccountLimits: async (limits) => {
      const request = { accountId: parley.accountId, limits };
      await accounts.setAccountLimits(create(pb.SetAccountLimitsRequestSchema, request), cliCall);
    },
    close: async () => {
      await parley.close();
      rmSync(folder, { recursive: true });
    },
  };
}

export function limitedKey(parley: Parley, id: string, secret: string): LimitedKey {
  const post = (path: string, body: string | FormData) =>
    parley.call(path, { method: 'POST', body, ...bearer(secret) });
  const messages = [{ role: 'user', content: 'a' }];
  return {
    id,
    secret,
    chat: (maxTokens, model = 'm') =>
      post('/chat/completions', JSON.stringify({ model, messages, max_tokens: maxTokens })),
    speak: (input) =>
      post('/audio/speech', JSON.stringify({ model: 'voice', input, response_format: 'pcm' })),
    transcribe: () => {
      const form = new FormData();
      form.append('file', new Blob(['RIFF a recording']), 'a.wav');
      return post('/audio/transcriptions', form);
    },
  };
}

function enginesOf(engine: LimitedEngine) {
  return withFakes({
    chat: fakeChat({
      complete: async (params) => {
        const limit = params.maxTokens ?? params.maxCompletionTokens;
        engine.outputLimits.push(limit);
        engine.running++;
        await engine.goesOn.finally(() => engine.running--);
        if (engine.fails) throw new Error('the engine fails');
        const { promptTokens, completionTokens = limit ?? 1 } = engine;
        const totalTokens = promptTokens + completionTokens;
        const message = {
          role: 'assistant',
          content: { value: { case: 'text', value: engine.text } as const },
        };
        return create(ChatCompletionSchema, {
          choices: [{ message, finishReason: 'stop' }],
          usage: Object.assign(create(UsageSchema), { promptTokens, completionTokens, totalTokens }),
        });
      },
    }),
    speech: fakeSpeech({
      synthesize: () => ({
        durationMs: () => 1000,
        audio: (async function* () {
          if (engine.fails) throw new Error('the engine fails');
          yield new Uint8Array(8);
        })(),
      }),
    }),
    transcription: fakeTranscription({
      async *transcribe() {
        yield { kind: 'audio', durationMs: engine.seconds * 1000 };
        if (engine.fails) throw new Error('the engine fails');
        yield { kind: 'done', durationMs: engine.seconds * 1000, text: 'a', language: 'en' };
      },
    }),
  });
}

/** The number of answers by status. */
export function countStatuses(answers: readonly Response[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
