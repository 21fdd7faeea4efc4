/** Engines that report their progress, and when they were stopped. */

import { randomBytes } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import type { Signal } from '../../src/core/values/signal.ts';
import type { EngineSet } from '../../src/engines/engine-set.ts';
import { fakeChat, fakeSpeech, withFakes } from '../support/fake-engines.ts';

/** The engine works without output, sends one part and continues working, or sends parts without end. */
export type Pace = 'silent' | 'one' | 'endless';

/** A run of an engine. */
export class Watch {
  readonly pace: Pace;
  readonly #begun = Promise.withResolvers<void>();
  readonly #stopped = Promise.withResolvers<void>();
  /** Number of parts that were sent. */
  parts = 0;
  hasEnded = false;

  constructor(pace: Pace) {
    this.pace = pace;
  }

  /** Resolves when the engine starts to work. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /** Resolves when the engine must stop. */
  get stopped(): Promise<void> {
    return this.#stopped.promise;
  }

  async *run(signal: Signal): AsyncGenerator<void> {
    signal.addEventListener('abort', () => this.#stopped.resolve(), { once: true });
    this.#begun.resolve();
    try {
      for (let said = 0; this.pace === 'endless' || (this.pace === 'one' && said === 0); said++) {
        signal.throwIfAborted();
        this.parts++;
        yield;
        // An engine yields to other work in turn.
        await new Promise((resolve) => setImmediate(resolve));
      }
      await new Promise((_, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    } finally {
      this.hasEnded = true;
    }
  }
}

export const partBytes = 65_536;
/** Random, so that compression does not change the amount that is sent. */
const padding = randomBytes(partBytes / 2).toString('hex');

/** @param current the run of the next request */
export function watchedEngines(current: () => Watch): Record<string, EngineSet> {
  return withFakes({
    speech: fakeSpeech({
      synthesize: (_, signal) => ({ audio: speak(current(), signal), durationMs: () => 1500 }),
    }),
    chat: fakeChat({
      stream: (_, signal) => chat(current(), signal),
      complete: async (_, signal) => {
        for await (const _piece of chat(current(), signal));
        return create(ChatCompletionSchema);
      },
    }),
  });
}

async function* speak(watch: Watch, signal: Signal): AsyncGenerator<Uint8Array> {
  for await (const _ of watch.run(signal)) yield Buffer.alloc(partBytes, 1);
}

/** Each chunk says one word, and is as large as a part of speech. */
async function* chat(watch: Watch, signal: Signal): AsyncGenerator<ChatCompletionChunk> {
  for await (const _ of watch.run(signal)) {
    const choices = [{ delta: { content: 'word ' } }];
    yield create(ChatCompletionChunkSchema, { choices, other: { padding } });
  }
}
