/** Engines that a test controls step by step, separately for each request. */

import { create } from '@bufbuild/protobuf';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
  type ChatDelta,
  type Usage,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import type { TranscriptionEvent } from '../../src/core/entities/engine.ts';
import type { Signal } from '../../src/core/values/signal.ts';
import type { EngineSet } from '../../src/engines/engine-set.ts';
import { fakeChat, fakeSpeech, fakeTranscription, withFakes } from './fake-engines.ts';

/** The next step of an engine. `end` is success: chat reports its usage, transcription the length of the audio. */
export type Cue =
  | { readonly do: 'role' }
  /** A part of the answer: a text of chat, a piece of audio, a segment of a transcript. */
  | { readonly do: 'output'; readonly text: string }
  | { readonly do: 'heard'; readonly durationMs: number }
  | { readonly do: 'end'; readonly usage?: Usage | undefined; readonly durationMs?: number }
  /** Ends without a finish reason. */
  | { readonly do: 'break off' }
  | { readonly do: 'fail'; readonly error: Error };

/** A run of an engine. It waits for its cues, and aborts with its request. */
export class Run {
  readonly #signal: Signal;
  readonly #cues: Cue[] = [];
  readonly #begun = Promise.withResolvers<void>();
  #awaiting: ((cue: Cue) => void) | undefined;
  #waits = Promise.withResolvers<void>();
  /** For chat the limit that the engine received. */
  maxTokens: number | undefined;

  constructor(signal: Signal) {
    this.#signal = signal;
  }

  /** Resolves when an engine has started the request. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  begin(): void {
    this.#begun.resolve();
  }

  /** Resolves when all cues so far are done and the engine waits for the next. */
  get waits(): Promise<void> {
    return this.#waits.promise;
  }

  give(cue: Cue): void {
    const awaiting = this.#awaiting;
    this.#awaiting = undefined;
    this.#waits = Promise.withResolvers();
    if (awaiting) awaiting(cue);
    else this.#cues.push(cue);
  }

  async *cues(): AsyncGenerator<Cue> {
    for (;;) {
      this.#signal.throwIfAborted();
      const cue = this.#cues.shift() ?? (await this.#next());
      if (cue.do === 'fail') throw cue.error;
      yield cue;
      if (cue.do === 'end' || cue.do === 'break off') return;
    }
  }

  #next(): Promise<Cue> {
    const { promise, resolve, reject } = Promise.withResolvers<Cue>();
    this.#awaiting = resolve;
    this.#waits.resolve();
    this.#signal.addEventListener('abort', () => reject(this.#signal.reason), { once: true });
    return promise;
  }
}

/** The engines, and the run of each request by the owner of its signal. */
export class ScriptedEngines {
  readonly engines: Record<string, EngineSet>;
  readonly #runs = new Map<string | undefined, Run>();

  constructor() {
    this.engines = withFakes({
      speech: fakeSpeech({
        synthesize: (_request, signal) => ({
          audio: speak(this.#begin(signal)),
          durationMs: () => undefined,
        }),
      }),
      transcription: fakeTranscription({ transcribe: ({ signal }) => transcribe(this.#begin(signal)) }),
      chat: fakeChat({
        complete: ({ maxTokens }, signal) => complete(this.#begin(signal, maxTokens)),
        stream: ({ maxTokens }, signal) => stream(this.#begin(signal, maxTokens)),
      }),
    });
  }

  /** The run of the request that will have this signal. */
  expect(signal: Signal & { owner?: string }): Run {
    const run = new Run(signal);
    signal.owner = `request ${this.#runs.size}`;
    this.#runs.set(signal.owner, run);
    return run;
  }

  #begin(signal: Signal, maxTokens?: number): Run {
    const run = this.#runs.get(signal.owner);
    if (run === undefined) throw new Error('an engine was called for a request that nobody expects');
    run.maxTokens = maxTokens;
    run.begin();
    return run;
  }
}

async function* speak(run: Run): AsyncGenerator<Uint8Array> {
  for await (const cue of run.cues()) if (cue.do === 'output') yield new Uint8Array(8);
}

async function* transcribe(run: Run): AsyncGenerator<TranscriptionEvent> {
  for await (const cue of run.cues()) {
    if (cue.do === 'heard') yield { kind: 'audio', durationMs: cue.durationMs };
    if (cue.do === 'output') {
      const segment = { startMs: 0, endMs: 1, text: cue.text, words: [], avgLogprob: undefined };
      yield { kind: 'segment', segment };
    }
    if (cue.do === 'end') yield { kind: 'done', durationMs: cue.durationMs ?? 0, language: 'english' };
  }
}

async function complete(run: Run): Promise<ChatCompletion> {
  let content = '';
  for await (const cue of run.cues()) {
    if (cue.do === 'output') content += cue.text;
    if (cue.do !== 'end') continue;
    const message = { role: 'assistant', content: { value: { case: 'text' as const, value: content } } };
    return create(ChatCompletionSchema, {
      choices: [{ message, finishReason: 'stop' }],
      ...(cue.usage && { usage: cue.usage }),
    });
  }
  throw new Error('a plain answer cannot break off');
}

async function* stream(run: Run): AsyncGenerator<ChatCompletionChunk> {
  for await (const cue of run.cues()) {
    if (cue.do === 'role') yield chunk({ role: 'assistant' });
    if (cue.do === 'output') yield chunk({ content: cue.text });
    if (cue.do === 'end') yield { ...chunk({}, 'stop'), ...(cue.usage && { usage: cue.usage }) };
  }
}

function chunk(
  delta: Partial<Pick<ChatDelta, 'role' | 'content'>>,
  finishReason?: string,
): ChatCompletionChunk {
  const choice = { index: 0, delta, ...(finishReason !== undefined && { finishReason }) };
  return create(ChatCompletionChunkSchema, { choices: [choice] });
}
