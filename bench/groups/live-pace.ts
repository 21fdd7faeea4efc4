/** People who speak 40 % of the time at their own pace, all at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LiveClient } from '../../test/support/live-client.ts';
import type { Served } from '../servers/child.ts';
import type { Spoken } from './live-speech.ts';
import { partSamples } from './live-turns.ts';

const partMs = 100;
const speechShare = 0.4;
/** The delay of a turn that fails. */
const failedMs = 60_000;

/** Milliseconds from each end of speech to its text. @param seconds in which sentences begin, at least one a person */
export async function delaysOf(server: Served, spoken: readonly Spoken[], people: number, seconds: number) {
  const untilMs = performance.now() + seconds * 1_000;
  const each = Array.from({ length: people }, async (_, person) => {
    // They do not begin all at once.
    await sleep((person / people) * 4_000);
    return converse(server, [...spoken.slice(person), ...spoken.slice(0, person)], untilMs);
  });
  return (await Promise.all(each)).flat();
}

async function converse(server: Served, spoken: readonly Spoken[], untilMs: number): Promise<number[]> {
  const client = new LiveClient({ baseUrl: server.origin, apiKey: server.key });
  client.configure({ turnDetection: {} });
  const arrivedMs = new Map<number, number>();
  const note = () => {
    for (const { turn } of client.all('turn').slice(arrivedMs.size)) arrivedMs.set(turn, performance.now());
  };
  const timer = setInterval(note, 10);
  const startMs = performance.now();
  await speakAll(client, spoken, startMs, untilMs);
  const ended = await client.finish();
  clearInterval(timer);
  if (ended !== undefined) throw new Error(`a session ended with ${ended}`);
  note();
  const texts = client.all('stopped').filter(({ turn }) => arrivedMs.has(turn));
  const delays = texts.map(({ turn, atMs }) => (arrivedMs.get(turn) ?? 0) - startMs - Number(atMs));
  return [...delays, ...client.all('failure').map(() => failedMs)];
}

/** Sends each part once it has been spoken. */
async function speakAll(client: LiveClient, spoken: readonly Spoken[], startMs: number, untilMs: number) {
  let atMs = startMs;
  for (let sentence = 0; sentence === 0 || atMs < untilMs; sentence++) {
    const samples = spoken[sentence % spoken.length]?.samples ?? new Int16Array(0);
    const parts = Math.ceil(samples.length / partSamples / speechShare);
    for (let part = 0; part < parts; part++) {
      atMs += partMs;
      await sleep(Math.max(0, atMs - performance.now()));
      // Silence follows the samples.
      const sent = new Int16Array(partSamples);
      sent.set(samples.subarray(part * partSamples, (part + 1) * partSamples));
      client.speak(sent);
    }
  }
}
