/** Runs one script with every chat client: answers, streams, errors, aborts and retries, against the real program. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startBehind } from '../../support/behind-upstream.ts';
import { chunk, chunks, completion } from '../../support/chat-answers.ts';
import type { Parley } from '../../support/parley.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, failure, json } from '../../support/upstream-answers.ts';

export interface Server {
  readonly baseUrl: string;
  readonly apiKey: string;
}

export interface Ask {
  readonly prompt: string;
  readonly model: string;
  readonly signal?: AbortSignal;
}

interface Usage {
  readonly input: number | undefined;
  readonly output: number | undefined;
}

/** A client library, as its users call it, with its default settings, also for retries. */
export interface ChatClient {
  readonly name: string;
  open(server: Server): OpenChatClient;
  /** Whether the library ignores `response.failed`, the only event that reports a failure. Default: false. */
  readonly ignoresFailedResponses?: true;
}

export interface OpenChatClient {
  ask(ask: Ask): Promise<{ readonly text: string; readonly usage: Usage }>;
  /** The pieces of the answer's text. Throws the error of the library, however the library reports it. */
  stream(ask: Ask): AsyncIterable<string>;
  /** The HTTP status and the code in an error of the library. */
  errorOf(thrown: unknown): { readonly status: unknown; readonly code?: unknown };
}

const path = '/chat/completions';
const question = { prompt: 'Hello.', model: 'served' };
const ended = { size: 100, after: undefined };

export function describeChatClient(client: ChatClient): void {
  describe(client.name, () => {
    let upstream: ScriptedUpstream;
    let parley: Parley;
    let open: OpenChatClient;
    let earlier = 0;
    beforeAll(async () => {
      upstream = await startScriptedUpstream();
      // Otherwise Parley itself would repeat the request that the client must repeat.
      parley = await startBehind(upstream.baseUrl, { engine: { retriesMax: 0 } });
      open = client.open(parley);
    });
    afterAll(async () => {
      await parley.close();
      await upstream.stop();
    });

    const records = async () => (await parley.app.store.usage.list({ operation: 'chat' }, ended)).items;
    /** The states of the test's requests, oldest first. */
    const states = async () => {
      const all = await records();
      return all
        .slice(0, all.length - earlier)
        .map(({ state }) => state)
        .reverse();
    };
    beforeEach(async () => {
      earlier = (await records()).length;
    });

    it('gets an answer, with its usage', async () => {
      upstream.answer(path, json(completion('hello there')));
      const { text, usage } = await open.ask(question);
      expect({ text, usage }).toEqual({ text: 'hello there', usage: { input: 9, output: 4 } });
      expect(await states()).toEqual(['ok']);
    });

    it('streams', async () => {
      upstream.answer(path, events(chunks('hello ', 'there')));
      const pieces = await all(open.stream(question));
      expect(pieces.filter((piece) => piece !== '')).toEqual(['hello ', 'there']);
      expect(await states()).toEqual(['ok']);
    });

    it('reports an unknown model, and does not try again', async () => {
      const thrown = await caught(open.ask({ ...question, model: 'gpt-4o' }));
      expect(open.errorOf(thrown)).toEqual({ status: 400, code: 'unknown_model' });
      expect(await states()).toEqual(['refused']);
    });

    it('tries again after a 429', async () => {
      upstream.answer(path, failure(429, { 'retry-after': '0' }), json(completion('at last')));
      expect((await open.ask(question)).text).toBe('at last');
      expect(await states()).toEqual(['failed', 'ok']);
    });

    it('does not take an interrupted answer for a complete one', async () => {
      upstream.answer(path, events([chunk({ content: 'hello ' })], { ending: 'reset', done: false }));
      const thrown = await caught(all(open.stream(question)));
      if (client.ignoresFailedResponses) expect(thrown).toBeUndefined();
      else expect(thrown).toBeInstanceOf(Error);
      expect(await states()).toEqual(['failed']);
    });

    it('stops the model when it leaves', async () => {
      upstream.answer(path, events([chunk({ content: 'hello ' })], { ending: 'stall', done: false }));
      const asked = upstream.nextRequest();
      const leaving = new AbortController();
      const reading = caught(readUntilFirst(open.stream({ ...question, signal: leaving.signal }), leaving));
      await (await asked).aborted;
      await reading;
      await expect.poll(states).toEqual(['cancelled']);
    });
  });
}

/** Leaves as soon as there is text. Some libraries then throw, others end. */
async function readUntilFirst(pieces: AsyncIterable<string>, leaving: AbortController): Promise<void> {
  for await (const piece of pieces) if (piece !== '') leaving.abort();
}

async function all(pieces: AsyncIterable<string>): Promise<string[]> {
  const read: string[] = [];
  for await (const piece of pieces) read.push(piece);
  return read;
}

function caught(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
}
