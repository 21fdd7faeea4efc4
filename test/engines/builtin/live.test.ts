/**
 * Turns of live speech that pocketsphinx recognises at their end, as files. `moonshine/moonshine.test.ts` has partial texts and
 * turns beyond what the machine can do.
 */
import type { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AudioEncoding } from '../../../gen/parley/audio/v1/live_pb.ts';
import { hasMoonshine, missingHearing } from '../../../src/media/hearing-files.ts';
import { missingPrograms, soundBounds, speak, wavFile } from '../../support/audio-files.ts';
import { LiveClient } from '../../support/live-client.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { wordErrors } from '../../support/word-errors.ts';

const instead = hasMoonshine() ? 'Moonshine recognises instead of pocketsphinx' : undefined;
const missing = missingHearing() ?? missingPrograms('flite') ?? instead;
const rate = 16_000;

const sentences = [
  'the birch canoe slid on the smooth planks',
  'glue the sheet to the dark blue background',
  'it is easy to tell the depth of a well',
  'these days a chicken leg is a rare dish',
  'rice is often served in round bowls',
  'the juice of lemons makes fine punch',
  'the box was thrown beside the parked truck',
  'the hogs were fed chopped corn and garbage',
];

let parley: Parley;
let spoken: readonly Int16Array[];

function joined(...parts: readonly Int16Array[]): Int16Array {
  return Int16Array.from(parts.flatMap((part) => Array.from(part)));
}

const silence = (seconds: number) => new Int16Array(seconds * rate);

async function transcribeFile(samples: Int16Array): Promise<string> {
  const form = new FormData();
  form.append('file', new Blob([Uint8Array.from(wavFile(samples))]), 'speech.wav');
  const response = await parley.call('/audio/transcriptions', { method: 'POST', body: form });
  const { text } = (await response.json()) as { text: string };
  return text;
}

describe.skipIf(missing)(`live recognition${missing ? `: ${missing}` : ''}`, () => {
  beforeAll(async () => {
    parley = await startParley();
    spoken = await Promise.all(sentences.map((sentence) => speak(sentence)));
  });
  afterAll(() => parley.close());

  it('ends turns at silences, and tells when people speak', async () => {
    const client = new LiveClient(parley);
    client.configure({ turnDetection: {} });
    const [one = silence(1), two = silence(1)] = spoken;
    client.speak(joined(silence(1), one, silence(1.5), two, silence(1.5)));
    expect(await client.finish()).toBeUndefined();
    const kinds = client.events.map(({ case: kind }) => kind).filter((kind) => kind !== 'partial');
    expect(kinds.toSorted()).toEqual(['started', 'started', 'stopped', 'stopped', 'turn', 'turn']);
    const [first, second] = client.all('turn');
    expect(first?.text).toContain('smooth');
    expect(second?.text).toContain('blue background');
    const [started, later] = client.all('started').map(({ atMs }) => Number(atMs));
    const oneMs = (one.length * 1000) / rate;
    expect(started).toBeGreaterThan(500);
    expect(started).toBeLessThan(1_100);
    expect(later).toBeGreaterThan(1_000 + oneMs);
    const [word] = second?.words ?? [];
    expect(word?.start).toBeGreaterThan((1_000 + oneMs + 1_000) / 1000);
    expect(client.all('partial')).toEqual([]);
  });

  it('makes no more mistakes than with files', async () => {
    const client = new LiveClient(parley);
    client.configure();
    let [live, file] = [0, 0];
    for (const [at, sentence] of sentences.entries()) {
      const samples = spoken[at] ?? silence(1);
      client.speak(samples);
      client.commit();
      const { text } = await client.next('turn', at + 1);
      live += wordErrors(sentence, text);
      file += wordErrors(sentence, await transcribeFile(samples));
    }
    await client.finish();
    expect(live).toBeLessThanOrEqual(Math.ceil(file * 1.15) + 2);
  });

  it('hears a word of 200 ms', async () => {
    const word = await speak('ten', 'rms', 0.4);
    const { startMs, endMs } = soundBounds(word);
    expect(endMs - startMs).toBeLessThan(250);
    const client = new LiveClient(parley);
    client.configure({ turnDetection: {} });
    client.speak(joined(silence(1), word, silence(1.5)));
    expect(await client.finish()).toBeUndefined();
    expect(client.all('turn')).toMatchObject([{ turn: 1, text: 'ten' }]);
  });

  it('fails a turn whose thread dies, for nothing, and hears the next', async () => {
    const threads: Worker[] = [];
    const kill = (thread: Worker) => {
      if (thread.threadName === 'recogniser-worker') threads.push(thread);
      if (thread === threads[0]) void thread.terminate();
    };
    // Its threads are its own.
    const server = await startParley({ engines: {} });
    process.on('worker', kill);
    const client = new LiveClient(server);
    client.configure();
    const one = (spoken[0] ?? silence(1)).subarray(0, 1.9 * rate);
    client.speak(one);
    client.commit();
    expect(await client.next('failure')).toMatchObject({ turn: 1, code: 'internal_error' });
    client.speak(one);
    expect(await client.finish()).toBeUndefined();
    expect(client.all('turn')).toMatchObject([{ turn: 2, text: expect.stringContaining('birch') }]);
    const { units } = await server.books();
    const seconds = Math.ceil(one.length / rate);
    expect(units).toMatchObject([{ used: 15 * seconds, reserved: 0 }]);
    process.off('worker', kill);
    await server.close();
  });

  it('hears telephones', async () => {
    const client = new LiveClient(parley);
    client.configure({ encoding: AudioEncoding.MULAW });
    const every = (spoken[7] ?? silence(1)).filter((_, at) => at % 2 === 0);
    client.send({ case: 'audio', value: Uint8Array.from(every, toMulaw).subarray(0, 65_536) });
    await client.finish();
    expect(client.all('turn')[0]?.seconds).toBeCloseTo(every.length / 8_000, 1);
    expect(client.all('turn')[0]?.text).toContain('garbage');
  });
});

/** G.711, as in its table of segments. */
function toMulaw(sample: number): number {
  const magnitude = Math.min(Math.abs(sample), 32_635) + 132;
  const segment = Math.max(0, 31 - Math.clz32(magnitude) - 7);
  const mantissa = (magnitude >> (segment + 3)) & 0x0f;
  return ~((sample < 0 ? 0x80 : 0) | (segment << 4) | mantissa) & 0xff;
}
