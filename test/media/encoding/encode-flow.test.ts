import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { audioFormats } from '../../../src/core/entities/engine.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import {
  createEncoderPool,
  type EncoderPool,
  type PcmSource,
  pcmInFlightSamplesMax,
} from '../../../src/media/encoding/encode.ts';
import { threadShare } from '../../support/thread-cpu.ts';
import { inChunks, speechLike } from '../signals.ts';

const rate = 16_000;
const speech = speechLike(rate, 2);
const onThreads = ['mp3', 'opus', 'flac', 'pcm'] as const;

let pool: EncoderPool;
/** The threads that were started, as Node itself reports them. */
let threads: Worker[];
const noteThread = (thread: Worker) => threads.push(thread);

beforeEach(() => {
  threads = [];
  process.on('worker', noteThread);
  pool = createEncoderPool({ threads: 2 });
});
afterEach(async () => {
  await pool.close();
  process.off('worker', noteThread);
});

/** A source that counts its read samples and its releases. After its chunks it ends or hangs. */
class WatchedSource implements PcmSource, AsyncIterator<Int16Array> {
  readonly sampleRate = rate;
  readonly samples = { [Symbol.asyncIterator]: () => this };
  readonly #chunks: Iterator<Int16Array>;
  readonly #atEnd: 'ends' | 'hangs';
  samplesTaken = 0;
  returns = 0;

  constructor(chunks: Iterable<Int16Array>, atEnd: 'ends' | 'hangs' = 'ends') {
    this.#chunks = chunks[Symbol.iterator]();
    this.#atEnd = atEnd;
  }

  async next(): Promise<IteratorResult<Int16Array>> {
    const result = this.#chunks.next();
    if (result.done && this.#atEnd === 'hangs') return new Promise(() => undefined);
    if (!result.done) this.samplesTaken += result.value.length;
    return result;
  }

  async return(): Promise<IteratorResult<Int16Array>> {
    this.returns += 1;
    return { done: true, value: undefined };
  }
}

function* endless(chunkSamples: number): Generator<Int16Array> {
  for (;;) yield speech.slice(0, chunkSamples);
}

const plain = (samples = speech): PcmSource => ({ sampleRate: rate, samples: inChunks(samples, [1601]) });
const never = () => new AbortController().signal;

async function drain(audio: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of audio) pieces.push(piece);
  return Buffer.concat(pieces);
}

const iterate = (audio: AsyncIterable<Uint8Array>) => audio[Symbol.asyncIterator]();

describe('the flow of a stream', () => {
  it.each(audioFormats)('reads no more from the source than the reader of %s requested', async (format) => {
    const source = new WatchedSource(endless(160));
    const audio = iterate(pool.encode(format, source, never()));
    await sleep(20);
    expect(source.samplesTaken).toBe(0);

    for (let pull = 0; pull < 20; pull += 1) {
      const before = source.samplesTaken;
      await audio.next();
      await sleep(2);
      expect(source.samplesTaken - before).toBeLessThanOrEqual(pcmInFlightSamplesMax);
    }
    await audio.return?.();
  });

  it.each(audioFormats)('emits %s before the source has ended', async (format) => {
    const source = new WatchedSource([speech], 'hangs');
    const { value } = await iterate(pool.encode(format, source, never())).next();
    expect(value?.length).toBeGreaterThan(0);
  });

  it.each(onThreads)('cuts a long chunk, so that %s leaves early and in small pieces', async (format) => {
    const source = new WatchedSource([speechLike(rate, 20)]);
    const pieces: number[] = [];
    for await (const piece of pool.encode(format, source, never())) pieces.push(piece.length);
    const total = pieces.reduce((sum, length) => sum + length, 0);
    expect(Math.max(...pieces)).toBeLessThan(total / 20);
    expect(pieces.length).toBeGreaterThan(40);
  });

  it('passes wav and 24 kHz pcm on without a copy and without a thread', async () => {
    const chunk = speech.slice();
    const source = { sampleRate: 24_000, samples: inChunks(chunk, [chunk.length]) };
    const wav = await drain(pool.encode('wav', source, never()));
    expect(wav.length).toBe(44 + chunk.byteLength);

    const pcm = pool.encode('pcm', { sampleRate: 24_000, samples: arrived(chunk) }, never());
    for await (const piece of pcm) expect(piece.buffer).toBe(chunk.buffer);
    expect(threads.length).toBe(0);
  });
});

async function* arrived(...chunks: Int16Array[]): AsyncGenerator<Int16Array> {
  yield* chunks;
}

describe('the end of a stream', () => {
  const afterFirstPiece = async (
    source: WatchedSource,
    signal: AbortSignal,
    format: 'mp3' | 'wav' = 'mp3',
  ) => {
    const audio = iterate(pool.encode(format, source, signal));
    await audio.next();
    return audio;
  };

  it.each(['mp3', 'wav'] as const)(
    'by abort while a %s source hangs rejects the reader at once',
    async (format) => {
      const control = new AbortController();
      const source = new WatchedSource([], 'hangs');
      const pull = iterate(pool.encode(format, source, control.signal)).next();
      await sleep(5);
      control.abort();
      expect(source.returns).toBe(1);
      await expect(pull).rejects.toMatchObject({ code: 'request_cancelled' });
      expect(getEventListeners(control.signal, 'abort').length).toBe(0);
    },
  );

  it('by abort while the reader pauses releases the source at once', async () => {
    const control = new AbortController();
    const source = new WatchedSource(endless(160));
    const audio = await afterFirstPiece(source, control.signal);
    control.abort(new ParleyError('overloaded'));
    expect(source.returns).toBe(1);
    await expect(audio.next()).rejects.toMatchObject({ code: 'overloaded' });
    expect(await audio.next()).toEqual({ done: true, value: undefined });
  });

  it('by abort before its start reads no source and starts no thread', async () => {
    const source = new WatchedSource([speech]);
    await expect(drain(pool.encode('mp3', source, AbortSignal.abort()))).rejects.toMatchObject({
      code: 'request_cancelled',
    });
    expect([source.samplesTaken, source.returns, threads.length]).toEqual([0, 0, 0]);
  });

  it('by a reader that leaves, even during a pull, throws nothing', async () => {
    const control = new AbortController();
    const source = new WatchedSource([speech.slice(0, 4000)], 'hangs');
    const audio = await afterFirstPiece(source, control.signal);
    const pulls = [audio.next(), audio.next(), audio.next()];
    await audio.return?.();
    expect(source.returns).toBe(1);
    expect((await Promise.all(pulls)).at(-1)).toEqual({ done: true, value: undefined });
    expect(getEventListeners(control.signal, 'abort').length).toBe(0);
  });

  it('leaves the thread to the next stream', async () => {
    const expected = await drain(pool.encode('mp3', plain(), never()));
    for (let turn = 0; turn < 10; turn += 1) {
      for await (const _ of pool.encode('mp3', new WatchedSource(endless(997)), never())) break;
    }
    expect(await drain(pool.encode('mp3', plain(), never()))).toEqual(expected);
    expect(threads.length).toBe(1);
  });

  it('returns normally and leaves no listener', async () => {
    const { signal } = new AbortController();
    const source = new WatchedSource([speech]);
    await drain(pool.encode('flac', source, signal));
    expect(source.returns).toBe(0);
    expect(getEventListeners(signal, 'abort').length).toBe(0);
  });

  it('by an error of the source throws that error', async () => {
    async function* failing(error: Error) {
      yield speech;
      throw error;
    }
    const failed = (error: Error) =>
      drain(pool.encode('opus', { sampleRate: rate, samples: failing(error) }, never()));
    const upstream = new ParleyError('upstream_error');
    await expect(failed(upstream)).rejects.toBe(upstream);
    await expect(failed(new Error('broken'))).rejects.toMatchObject({ code: 'internal_error' });
  });

  it('throws on an invalid sample rate', () => {
    for (const sampleRate of [0, 7999, 16_000.5, 96_000, Number.NaN]) {
      expect(() => pool.encode('wav', { sampleRate, samples: arrived() }, never())).toThrow(ParleyError);
    }
  });
});

describe('the threads', () => {
  it.each(onThreads)('give eight concurrent streams of %s the same bytes as one alone', async (format) => {
    const alone = await drain(pool.encode(format, plain(), never()));
    const together = await Promise.all(
      Array.from({ length: 8 }, () => drain(pool.encode(format, plain(), never()))),
    );
    for (const file of together) expect(Buffer.compare(file, alone)).toBe(0);
    expect(threads.length).toBe(2);
  });

  it.each<[string, (thread: Worker) => void]>([
    ['end', (thread) => void thread.terminate()],
    ['throw', (thread) => thread.postMessage(null)],
  ])('that %s fail their streams, and the next stream has a new one', async (_, crash) => {
    const held = iterate(pool.encode('mp3', new WatchedSource(endless(160)), never()));
    await held.next();
    const source = new WatchedSource(endless(4096));
    const drained = expect(drain(pool.encode('mp3', source, never()))).rejects.toMatchObject({
      code: 'internal_error',
    });
    await sleep(50);
    for (const thread of [...threads]) crash(thread);
    await drained;
    expect(source.returns).toBe(1);
    await expect(pullAll(held)).rejects.toMatchObject({ code: 'internal_error' });

    expect((await drain(pool.encode('mp3', plain(), never()))).length).toBeGreaterThan(10_000);
    expect(threads.length).toBe(3);
  });

  it('start when a stream needs one, only once', async () => {
    await drain(pool.encode('wav', plain(), never()));
    expect(threads.length).toBe(0);
    await drain(pool.encode('mp3', plain(), never()));
    await drain(pool.encode('opus', plain(), never()));
    expect(threads.length).toBe(1);
  });

  it('that are closed fail open streams and refuse new ones', async () => {
    const audio = drain(pool.encode('flac', new WatchedSource(endless(4096)), never()));
    const failure = expect(audio).rejects.toMatchObject({ code: 'overloaded' });
    await sleep(20);
    await pool.close();
    await failure;
    await expect(drain(pool.encode('flac', plain(), never()))).rejects.toMatchObject({ code: 'overloaded' });
  });

  it('leave the event loop free through a minute of speech', async () => {
    const minute = speechLike(rate, 60);
    await drain(pool.encode('mp3', plain(), never()));
    const encode = () =>
      drain(pool.encode('mp3', { sampleRate: rate, samples: inChunks(minute, [20 * rate]) }, never()));
    expect(await threadShare(encode)).toBeLessThan(0.25);
  });
});

/** Pulls until the stream ends or fails. */
async function pullAll(audio: AsyncIterator<Uint8Array>): Promise<void> {
  while (!(await audio.next()).done);
}
