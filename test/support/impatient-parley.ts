/** A scripted upstream and a Parley that waits for it only briefly, for a file of tests about failing upstreams. */
import { afterAll, afterEach } from 'vitest';
import { type BehindOptions, startBehind } from './behind-upstream.ts';
import { question } from './chat-answers.ts';
import type { Parley } from './parley.ts';
import { startScriptedUpstream } from './scripted-upstream.ts';

export const path = '/chat/completions';

/** Settings of an engine that gives up soon, and at once. */
export const quick = { connectMs: 2_000, firstByteMs: 1_000, idleMs: 1_000, totalMs: 4_000, retriesMax: 0 };

/** Starts both for a file of tests. Servers that a test starts end with the test. */
export async function startImpatient() {
  const upstream = await startScriptedUpstream();
  const parley = await startBehind(upstream.baseUrl, { engine: { ...quick, breakerFailures: 1_000 } });
  const forOneTest: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of forOneTest.splice(0).reverse()) await close();
  });
  afterAll(async () => {
    await parley.close();
    await upstream.stop();
  });

  return {
    upstream,
    parley,
    /** Closes the servers that a test has started. */
    afterTest: (close: () => Promise<unknown>) => forOneTest.push(close),
    /** A Parley for one test. */
    async behind(baseUrl: string, options: BehindOptions = {}): Promise<Parley> {
      const own = await startBehind(baseUrl, options);
      forOneTest.push(() => own.close());
      return own;
    },
    ask: (body: object = {}, init?: RequestInit) => parley.postJson(path, { ...question, ...body }, init),
  };
}

/** Events with these values, as they are sent. */
export const text = (...parts: unknown[]) => parts.map((part) => `data: ${JSON.stringify(part)}\n\n`);
