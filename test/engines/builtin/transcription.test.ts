import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  TranscriptionEngine,
  TranscriptionEvent,
  TranscriptionRequest,
  TranscriptSegment,
} from '../../../src/core/entities/engine.ts';
import {
  type BuiltinTranscriptionOptions,
  createBuiltinTranscription,
} from '../../../src/engines/builtin/transcription.ts';
import type { Owned } from '../../../src/engines/engine-set.ts';
import { hasMoonshine, missingHearing } from '../../../src/media/hearing-files.ts';
import {
  encode,
  generate,
  joinSamples,
  missingPrograms,
  soundBounds,
  speak,
  wavFile,
  wavHeader,
} from '../../support/audio-files.ts';
import { runningThreads } from '../../support/threads.ts';
import { wordErrors, wordsOf } from '../../support/word-errors.ts';

const missing = missingHearing() ?? missingPrograms('ffmpeg', 'flite');
const incomparable =
  missingPrograms('pocketsphinx_batch') ?? (hasMoonshine() ? 'Moonshine recognises instead' : undefined);
if (missing !== undefined) process.stderr.write(`builtin-transcription.test.ts is skipped: ${missing}\n`);
if (incomparable !== undefined)
  process.stderr.write(`no comparison with pocketsphinx_batch: ${incomparable}\n`);

const recognisers = () => ['recogniser-worker', 'moonshine-worker'].flatMap(runningThreads);
const decoders = () => runningThreads('utterance-worker');

/** Video of 320 by 240, for files that have video besides the audio. */
const testPicture = ['-f', 'lavfi', '-i', 'testsrc=size=320x240:rate=25'];

const sentence =
  'A light rain had fallen during the night, and the stones along the water were still dark and wet.';
/** A recording for tests that need only some words: it takes a fraction of the sentence's time. */
const phrase = 'A light rain had fallen during the night.';
const story =
  'My sister had promised to bring bread, cheese and a basket of apples. She arrived an hour late with a broken wheel ' +
  'and a very good story.';

describe.skipIf(missing !== undefined)('the built-in transcription', () => {
  let engine: Owned<TranscriptionEngine>;
  let spokenSentence: Int16Array = new Int16Array(0);
  let spokenStory: Int16Array = new Int16Array(0);
  let spokenPhrase: Int16Array = new Int16Array(0);

  const createEngine = (options: Partial<BuiltinTranscriptionOptions> = {}): Owned<TranscriptionEngine> =>
    createBuiltinTranscription({ recognisers: 2, queueMax: 8, ...options });

  beforeAll(async () => {
    engine = createEngine();
    [spokenSentence, spokenStory, spokenPhrase] = await Promise.all([
      speak(sentence),
      speak(story, 'slt'),
      speak(phrase),
    ]);
  });
  afterAll(async () => {
    await engine.close();
    expect([...recognisers(), ...decoders()]).toEqual([]);
  });

  describe('reads every format', () => {
    // test/media/decoding/decoder.test.ts has the codecs of each container.
    const packings: readonly [string, string, readonly string[]][] = [
      ['WAV', 'wav', []],
      ['FLAC', 'flac', ['-sample_fmt', 's32', '-ar', '48000', '-ac', '2']],
      ['AAC in m4a', 'm4a', ['-c:a', 'aac']],
      ['MP3', 'mp3', ['-c:a', 'libmp3lame']],
      [
        'an MPEG program stream with video',
        'mpeg',
        [...testPicture, '-shortest', '-c:v', 'mpeg2video', '-c:a', 'mp2', '-ar', '48000', '-f', 'vob'],
      ],
      ['Opus in Ogg', 'ogg', ['-c:a', 'libopus', '-ac', '2']],
      ['Opus in WebM', 'webm', ['-c:a', 'libopus']],
    ];
    it.each(packings)('%s', async (_, extension, args) => {
      const events = await transcribe(await encode(spokenPhrase, extension, ...args), 'recording');
      expect(wordErrorRate(phrase, textOf(events))).toBeLessThan(0.15);
      expect(doneOf(events).durationMs / 1000).toBeCloseTo(spokenPhrase.length / 16_000, 0);
    });
  });

  describe('answers a broken file with a code, and the next request normally', () => {
    const chanceBytes = Uint8Array.from({ length: 100_000 }, (_, at) => (at * at * 7919) >> 5);
    const claims = { channels: 1, sampleRate: 16_000, bitsPerSample: 16, dataBytes: 32_000 };
    const bad: readonly [string, string, Uint8Array, string][] = [
      ['an empty file', 'a.wav', new Uint8Array(0), 'invalid_file'],
      ['text', 'a.mp3', Buffer.from('Not audio at all. '.repeat(500)), 'invalid_file'],
      ['a playlist', 'a.mp3', Buffer.from('#EXTM3U\nhttp://127.0.0.1:9/a.mp3\n'), 'invalid_file'],
      [
        'a list of files for ffmpeg',
        'a.ogg',
        Buffer.from("ffconcat version 1.0\nfile '/etc/passwd'\n"),
        'invalid_file',
      ],
      ['chance bytes', 'a.ogg', chanceBytes, 'invalid_file'],
      [
        'a ZIP archive',
        'a.wav',
        Buffer.concat([Buffer.from('PK\x03\x04'), wavFile(new Int16Array(9))]),
        'unsupported_file_format',
      ],
      ['a WAV header alone', 'a.wav', wavHeader({ ...claims, dataBytes: 2 ** 32 - 2 }), 'invalid_file'],
      [
        '65,535 channels',
        'a.wav',
        Buffer.concat([wavHeader({ ...claims, channels: 65_535 }), Buffer.alloc(32_000)]),
        'invalid_file',
      ],
      [
        'Ogg without more',
        'a.ogg',
        Buffer.concat([Buffer.from('OggS'), Buffer.alloc(5000, 3)]),
        'invalid_file',
      ],
      [
        'WebM without more',
        'a.webm',
        Buffer.concat([Buffer.from('1a45dfa39f428284', 'hex'), Buffer.from('webm')]),
        'invalid_file',
      ],
    ];
    it.each(bad)('%s', async (_, fileName, audio, code) => {
      await expect(transcribe(audio, fileName)).rejects.toMatchObject({
        code,
        param: 'file',
        httpStatus: 400,
      });
    });

    it('then a good one', async () => {
      expect(textOf(await transcribe(wavFile(spokenPhrase)))).toContain('rain had fallen');
    });
  });

  it('transcribes the existing part of a truncated file', async () => {
    const whole = await encode(spokenSentence, 'mp3', '-c:a', 'libmp3lame');
    const events = await transcribe(whole.subarray(0, whole.length / 2));
    expect(textOf(events)).toContain('rain had fallen');
    expect(textOf(events)).not.toContain('dark');
  });

  it('refuses a fragment of a file instead of losing most of its words', async () => {
    const whole = await encode(spokenSentence, 'mp3', '-c:a', 'libmp3lame');
    const fragment = transcribe(whole.subarray(0, whole.length / 4));
    await expect(fragment).rejects.toMatchObject({
      code: 'invalid_file',
      param: 'file',
      message: expect.stringMatching(/states \d\.\d s of audio, but only \d\.\d s could be read/),
    });
  });

  it('names a codec without a decoder', async () => {
    const file = await encode(spokenPhrase, 'mp4', '-c:a', 'eac3');
    await expect(transcribe(file)).rejects.toMatchObject({
      code: 'unsupported_file_format',
      message: expect.stringContaining('audio of the codec eac3'),
    });
  });

  it('reads the first stream of audio that it can decode', async () => {
    const streams = ['-map', '0:a', '-map', '0:a', '-c:a:0', 'eac3', '-c:a:1', 'aac'];
    const events = await transcribe(await encode(spokenPhrase, 'mp4', ...streams));
    expect(wordErrorRate(phrase, textOf(events))).toBeLessThan(0.15);
  });

  it('counts the audio of a file whose video is longer', async () => {
    const file = await encode(spokenPhrase, 'mp4', ...testPicture, '-t', '20', '-map', '0:a', '-map', '1:v');
    const events = await transcribe(file);
    const longestMs = Math.max(...events.map((event) => (event.kind === 'segment' ? 0 : event.durationMs)));
    expect(longestMs / 1000).toBeCloseTo(spokenPhrase.length / 16_000, 0);
  });

  it('counts the samples of a streamed WAV, not the length in its header', async () => {
    const header = wavHeader({ channels: 1, sampleRate: 16_000, bitsPerSample: 16, dataBytes: 2 ** 32 - 1 });
    const events = await transcribe(Buffer.concat([header, wavFile(spokenPhrase).subarray(44)]));
    expect(wordErrorRate(phrase, textOf(events))).toBeLessThan(0.15);
    expect(doneOf(events).durationMs).toBe(Math.round(spokenPhrase.length / 16));
  });

  it('returns an empty transcript for half an hour of silence', async () => {
    const silence = ['-f', 'lavfi', '-i', 'anullsrc=r=8000:cl=mono', '-t', '1800'];
    const events = await transcribe(await generate('flac', ...silence));
    expect(events.filter(({ kind }) => kind === 'segment')).toEqual([]);
    expect(doneOf(events)).toEqual({ kind: 'done', durationMs: 1_800_000, language: 'english' });
  });

  it('finds no words in a room without a voice', async () => {
    const room = await generate(
      'flac',
      '-f',
      'lavfi',
      '-i',
      'anoisesrc=r=16000:a=0.01:c=pink:seed=1',
      '-t',
      '60',
    );
    expect(textOf(await transcribe(room))).toBe('');
  });

  it.skipIf(incomparable !== undefined)('recognises as well as pocketsphinx_batch -cmn batch', async () => {
    const [own, byHand] = [
      textOf(await transcribe(wavFile(spokenStory))),
      await recogniseByHand(spokenStory),
    ];
    expect(wordErrorRate(story, own)).toBeLessThanOrEqual(wordErrorRate(story, byHand) + 0.02);
    expect(wordErrorRate(story, own)).toBeLessThan(0.25);
  });

  it('recognises a quiet recording with an offset as well as a loud one', async () => {
    const quiet = spokenStory.map((sample) => sample * 0.02 + 700);
    expect(wordErrorRate(story, textOf(await transcribe(wavFile(quiet))))).toBeLessThan(0.3);
  });

  it('gives the time of each word in the recording', async () => {
    const spoken = await Promise.all(['rain', 'table', 'hammer'].map((word) => speak(word)));
    const [rain = new Int16Array(0), table = new Int16Array(0), hammer = new Int16Array(0)] = spoken;
    const recording = joinSamples(
      5000,
      spokenSentence,
      3000,
      rain,
      20_000,
      table,
      1500,
      hammer,
      2000,
      spokenSentence,
    );
    const events = await transcribe(wavFile(recording));
    const words = segmentsOf(events).flatMap((segment) => segment.words);

    const sentenceMs = spokenSentence.length / 16;
    const second = soundBounds(spokenSentence);
    const lastStartMs =
      5000 +
      sentenceMs +
      3000 +
      rain.length / 16 +
      20_000 +
      table.length / 16 +
      1500 +
      hammer.length / 16 +
      2000;
    const wets = words.filter(({ word }) => /^wet\W?$/.test(word));
    expect(wets).toHaveLength(2);
    expect(Math.abs((wets[0]?.endMs ?? 0) - (5000 + second.endMs))).toBeLessThan(150);
    expect(Math.abs((wets[1]?.endMs ?? 0) - (lastStartMs + second.endMs))).toBeLessThan(150);
    const tableStartMs = 5000 + sentenceMs + 3000 + rain.length / 16 + 20_000 + soundBounds(table).startMs;
    const nearest = words.reduce((best, word) =>
      Math.abs(word.startMs - tableStartMs) < Math.abs(best.startMs - tableStartMs) ? word : best,
    );
    expect(Math.abs(nearest.startMs - tableStartMs)).toBeLessThan(150);
  });

  it('sends the duration first, then segments in order of time, then `done`', async () => {
    const events = await transcribe(
      wavFile(joinSamples(spokenPhrase, 16_000, spokenPhrase, 16_000, spokenPhrase)),
    );
    expect(events[0]?.kind).toBe('audio');
    expect(events.at(-1)?.kind).toBe('done');
    const segments = segmentsOf(events);
    expect(segments.length).toBeGreaterThanOrEqual(3);
    let timeMs = 0;
    for (const { startMs, endMs, text, words, avgLogprob } of segments) {
      expect(text).toBe(words.map(({ word }) => word).join(' '));
      expect(text).toMatch(/^[a-z' .,-]+$/i);
      expect([startMs, endMs]).toEqual([words[0]?.startMs, words.at(-1)?.endMs]);
      expect(avgLogprob).toBeLessThanOrEqual(0);
      for (const word of words) {
        expect(word.startMs).toBeGreaterThanOrEqual(timeMs);
        expect(word.endMs).toBeGreaterThan(word.startMs);
        timeMs = word.endMs;
      }
    }
    expect(timeMs).toBeLessThanOrEqual(doneOf(events).durationMs);
  });

  it('sends a first segment while the recording is still being recognised', async () => {
    const minutes = joinSamples(...new Array<Int16Array>(5).fill(spokenStory));
    for await (const event of start(engine, { audio: wavFile(minutes) })) {
      if (event.kind !== 'segment') continue;
      expect(event.segment.endMs).toBeLessThan(25_000);
      expect(recognisers().length).toBeGreaterThan(0);
      break;
    }
  });

  it('reports english whatever the language hint', async () => {
    const events = await collect(start(engine, { audio: wavFile(spokenPhrase), language: 'de' }));
    expect(doneOf(events).language).toBe('english');
    expect(textOf(events)).toContain('rain had fallen');
  });

  describe('is shared fairly', () => {
    it('gives two concurrent requests the same results as each alone', async () => {
      const files = [wavFile(await speak('Thank you very much.')), wavFile(spokenPhrase)];
      const alone = [
        await transcribe(files[0] ?? Buffer.alloc(0)),
        await transcribe(files[1] ?? Buffer.alloc(0)),
      ];
      const together = await Promise.all(files.map((file) => transcribe(file)));
      expect(together.map(textOf)).toEqual(alone.map(textOf));
    });

    it('serves a short request before the end of a long one on the only recogniser', async () => {
      const single = createEngine({ recognisers: 1 });
      const stop = new AbortController();
      const audio = wavFile(joinSamples(...new Array<Int16Array>(6).fill(spokenStory)));
      const long = collect(start(single, { audio, signal: stop.signal })).then(
        () => 'ended',
        () => 'stopped',
      );
      await until(() => recognisers().length > 0);
      await collect(start(single, { audio: wavFile(spokenPhrase) }));
      stop.abort();
      expect(await long).toBe('stopped');
      await single.close();
    });

    it('refuses a request when the queue is full, and accepts the next when one has ended', async () => {
      const single = createEngine({ recognisers: 1, queueMax: 1 });
      const running = [1, 2].map(() => collect(start(single, { audio: wavFile(spokenPhrase) })));
      await until(() => recognisers().length > 0);
      await expect(collect(start(single, { audio: wavFile(spokenPhrase) }))).rejects.toMatchObject({
        code: 'overloaded',
        retryAfterSeconds: expect.any(Number),
      });
      await Promise.all(running);
      const events = await collect(start(single, { audio: wavFile(spokenPhrase) }));
      expect(textOf(events)).toContain('rain had fallen');
      await single.close();
    });
  });

  const transcribe = (audio: Uint8Array, fileName?: string): Promise<TranscriptionEvent[]> =>
    collect(start(engine, { audio, fileName }));
});

describe.skipIf(missing !== undefined)('the built-in transcription ends its threads', () => {
  let longFile: Buffer = Buffer.alloc(0);
  beforeAll(async () => {
    const spokenStory = await speak(story);
    longFile = wavFile(joinSamples(...new Array<Int16Array>(16).fill(spokenStory)));
  });

  const createEngine = (options: Partial<BuiltinTranscriptionOptions> = {}): Owned<TranscriptionEngine> =>
    createBuiltinTranscription({ recognisers: 2, queueMax: 8, ...options });
  function startLong(options: Partial<BuiltinTranscriptionOptions>, signal = new AbortController().signal) {
    const own = createEngine(options);
    return { own, events: start(own, { audio: longFile, signal })[Symbol.asyncIterator]() };
  }
  const expectNothingLeft = async (own: Owned<TranscriptionEngine>) => {
    await until(() => recognisers().length === 0);
    await own.close();
    expect(decoders()).toEqual([]);
  };

  it('when the client leaves while an event is awaited', async () => {
    const client = new AbortController();
    const { own, events } = startLong({}, client.signal);
    expect((await events.next()).value).toMatchObject({ kind: 'audio' });
    const next = events.next();
    await until(() => recognisers().length > 0);
    client.abort();
    await expect(next).rejects.toMatchObject({ code: 'request_cancelled' });
    await expectNothingLeft(own);
  });

  it('when the client leaves without reading', async () => {
    const client = new AbortController();
    const { own, events } = startLong({}, client.signal);
    await events.next();
    await until(() => recognisers().length > 0);
    client.abort();
    await expectNothingLeft(own);
  });

  it('when the reader returns while an event is awaited', async () => {
    const { own, events } = startLong({});
    await events.next();
    const next = events.next();
    await until(() => recognisers().length > 0);
    await events.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    await expectNothingLeft(own);
  });

  it('when the engine is closed', async () => {
    const { own, events } = startLong({});
    await events.next();
    await until(() => recognisers().length > 0);
    await own.close();
    await expect(events.next()).rejects.toMatchObject({ code: 'overloaded' });
    await expectNothingLeft(own);
  });

  it('and starts another after one was ended, which fails its request', async () => {
    const own = createEngine({ recognisers: 1 });
    const failing = collect(start(own, { audio: longFile }));
    await until(() => recognisers().length > 0);
    for (const thread of recognisers()) void thread.terminate();
    await expect(failing).rejects.toMatchObject({ code: 'internal_error' });
    const next = await collect(start(own, { audio: wavFile(await speak(phrase)) }));
    expect(textOf(next)).toContain('rain had fallen');
    await own.close();
  });
});

function start(
  engine: TranscriptionEngine,
  request: Partial<TranscriptionRequest>,
): AsyncIterable<TranscriptionEvent> {
  const { signal } = new AbortController();
  return engine.transcribe({
    audio: Buffer.alloc(0),
    fileName: undefined,
    language: undefined,
    signal,
    ...request,
  });
}

async function collect(events: AsyncIterable<TranscriptionEvent>): Promise<TranscriptionEvent[]> {
  const collected: TranscriptionEvent[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

function segmentsOf(events: readonly TranscriptionEvent[]): TranscriptSegment[] {
  return events.flatMap((event) => (event.kind === 'segment' ? [event.segment] : []));
}

function textOf(events: readonly TranscriptionEvent[]): string {
  return segmentsOf(events)
    .map(({ text }) => text)
    .join(' ');
}

function doneOf(events: readonly TranscriptionEvent[]): TranscriptionEvent & { kind: 'done' } {
  const last = events.at(-1);
  if (last?.kind !== 'done') throw new Error(`the last event is ${last?.kind}`);
  return last;
}

/** The word error rate: insertions, deletions and substitutions per word said. */
const wordErrorRate = (said: string, heard: string) => wordErrors(said, heard) / wordsOf(said).length;

/** The words of a whole recording by one run of pocketsphinx_batch, without this engine. */
async function recogniseByHand(samples: Int16Array): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-by-hand-'));
  const model = '/usr/share/pocketsphinx/model/en-us';
  await writeFile(join(folder, 'a.wav'), wavFile(samples));
  await writeFile(join(folder, 'list'), 'a\n');
  const models = [
    '-hmm',
    `${model}/en-us`,
    '-lm',
    `${model}/en-us.lm.bin`,
    '-dict',
    `${model}/cmudict-en-us.dict`,
  ];
  const files = ['-ctl', join(folder, 'list'), '-cepdir', folder, '-cepext', '.wav'];
  const options = [
    '-adcin',
    'yes',
    '-adchdr',
    '44',
    '-cmn',
    'batch',
    '-hyp',
    join(folder, 'words'),
    '-logfn',
    '/dev/null',
  ];
  try {
    await promisify(execFile)('pocketsphinx_batch', [...models, ...files, ...options]);
    return (await readFile(join(folder, 'words'), 'utf8')).replace(/ \(a -?\d+\)\s*$/, '');
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(20);
}
