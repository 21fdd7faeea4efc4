import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { audioFormats } from '../../../src/core/entities/engine.ts';
import { cutIntoPieces } from '../../../src/engines/builtin/flite/pieces.ts';
import { compileFlite, constants, FliteProgram } from '../../../src/engines/builtin/flite/program.ts';
import { canBeSaid, speakableText } from '../../../src/engines/builtin/flite/speakable-text.ts';
import { synthesizePiece } from '../../../src/engines/builtin/flite/synthesis.ts';
import { fliteVoices } from '../../../src/engines/builtin/flite/voices.ts';
import { readFlite } from '../../../src/engines/builtin/flite/wasm-file.ts';
import { createBuiltinSpeech, speakPcm } from '../../../src/engines/builtin/speech.ts';
import { createEncoderPool } from '../../../src/media/encoding/encode.ts';
import { threadShare } from '../../support/thread-cpu.ts';
import { collect, energy, newPool, prose, speak, untilTheEnd, voiceNamed } from './flite/listening.ts';

const flite = new FliteProgram(await compileFlite());

describe('the voices', () => {
  it('are those in the module, except the one that can only say the time', () => {
    const listed = flite.run(['-lv']).stdout.replace(/^.*?:/, '').trim().split(/\s+/);
    expect(listed).toContain('awb_time');
    expect(fliteVoices.map(({ id }) => id).sort()).toEqual(listed.filter((id) => id !== 'awb_time').sort());
  });

  it.each(fliteVoices)(
    '$id speaks: sound of a plausible length, without silence around it',
    async ({ id, sampleRate }) => {
      const samples = await collect(
        speak(newPool({ threads: 1 }), 'The old harbour was quiet when the rain stopped.', untilTheEnd, id),
      );
      const seconds = samples.length / sampleRate;
      expect(seconds).toBeGreaterThan(1.5);
      expect(seconds).toBeLessThan(5);
      expect(energy(samples)).toBeGreaterThan(500);
      const edge = sampleRate / 5;
      expect(energy(samples.subarray(0, edge))).toBeGreaterThan(50);
      expect(energy(samples.subarray(-edge))).toBeGreaterThan(50);
    },
  );
});

describe('a run of flite', () => {
  it('knows the constants of its module, the first data segment', async () => {
    const leb128 = (value: number): number[] =>
      value < 128 ? [value] : [(value & 127) | 128, ...leb128(value >> 7)];
    const { start, end } = constants;
    // In the only memory, from the address that `i32.const` gives.
    const segment = Buffer.from([0, 0x41, ...leb128(start), 0x0b, ...leb128(end - start)]);
    const wasm = Buffer.from(await readFlite());
    const at = wasm.indexOf(segment);
    expect(at).toBeGreaterThan(0);
    expect(wasm.indexOf(segment, at + 1)).toBe(-1);
    expect(end - start).toBeGreaterThan(16_000_000);
  });

  it('gives the same samples after other runs as in a new instance', async () => {
    const module = await compileFlite();
    const used = new FliteProgram(module);
    const pieces = [
      ...fliteVoices.map(({ id: voice }) => ({ voice, text: 'Hello there.' })),
      ...[prose(100), 'x'.repeat(100)].map((text) => ({ voice: 'rms', text })),
    ];
    const alone = pieces.map((piece) => ({
      piece,
      samples: synthesizePiece(new FliteProgram(module), piece),
    }));
    for (const { piece, samples } of [...alone, ...alone.toReversed()]) {
      expect(Buffer.compare(bytesOf(synthesizePiece(used, piece)), bytesOf(samples))).toBe(0);
    }
  });
});

describe('the speech', () => {
  it('contains every word of a long text', () => {
    const text = prose(2000);
    const words = (written: string) => written.toLowerCase().match(/[a-z]+/g) ?? [];
    const said = cutIntoPieces(speakableText(text)).flatMap((piece) =>
      words(flite.run(['-voice', 'kal', '-pw', '-t', piece.text, '-o', 'none']).stdout),
    );
    const expected = new Set(words(text));
    expect(said.filter((word) => expected.has(word))).toEqual(words(text));
  });

  const recognizer = '/usr/bin/pocketsphinx_batch';
  const model = '/usr/share/pocketsphinx/model/en-us';
  const missing =
    existsSync(recognizer) && existsSync(model) ? '' : ' (skipped: pocketsphinx is not installed)';
  it.skipIf(missing !== '')(`can be understood${missing}`, async () => {
    const text = 'Please send the report to the office before noon on Friday.';
    const samples = await collect(speak(newPool({ threads: 1 }), text, untilTheEnd, 'rms'));
    const folder = mkdtempSync(join(tmpdir(), 'parley-heard-'));
    try {
      writeFileSync(join(folder, 'a.raw'), samples);
      writeFileSync(join(folder, 'list'), 'a\n');
      const files = [
        '-cepdir',
        folder,
        '-cepext',
        '.raw',
        '-ctl',
        join(folder, 'list'),
        '-hyp',
        join(folder, 'heard'),
      ];
      const models = [
        '-hmm',
        `${model}/en-us`,
        '-lm',
        `${model}/en-us.lm.bin`,
        '-dict',
        `${model}/cmudict-en-us.dict`,
      ];
      execFileSync(recognizer, ['-cmn', 'batch', '-adcin', 'yes', ...files, ...models], { stdio: 'ignore' });
      const heard = readFileSync(join(folder, 'heard'), 'utf8').split(/\s+/);
      const words = text.toLowerCase().match(/[a-z]+/g) ?? [];
      expect(words.filter((word) => heard.includes(word)).length).toBeGreaterThan(words.length * 0.7);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('of a text that looks like an option is that text', async () => {
    expect(energy(await collect(speak(newPool({ threads: 1 }), '--help')))).toBeGreaterThan(500);
  });

  it('has pauses between sentences and none at a cut inside a clause', async () => {
    const chunks: Int16Array[] = [];
    for await (const chunk of speak(newPool({ threads: 1 }), 'This is the first. This is the second.'))
      chunks.push(chunk);
    expect(chunks.map((chunk) => energy(chunk) > 0)).toEqual([true, false, true]);
    expect(chunks[1]?.length).toBe(0.35 * 8000);

    const words = await collect(
      speak(newPool({ threads: 1 }), 'many more words '.repeat(12), untilTheEnd, 'slt'),
    );
    expect(longestSilenceMs(words, 16_000)).toBeLessThan(250);
  });

  it('is in order, sample for sample, when pieces are spoken in parallel', async () => {
    const text = Array.from({ length: 40 }, (_, index) => `This is number ${index + 1} of them.`).join(' ');
    const pieces = cutIntoPieces(speakableText(text));
    expect(pieces.length).toBe(40);
    const parallel: Int16Array[] = [];
    for await (const chunk of speakPcm(newPool({ threads: 2 }), voiceNamed('kal'), pieces, untilTheEnd))
      parallel.push(chunk);
    const speech = parallel.filter((_, index) => index % 2 === 0);
    expect(speech.length).toBe(40);
    for (const [index, piece] of pieces.entries()) {
      const alone = synthesizePiece(flite, { voice: 'kal', text: piece.text });
      expect(Buffer.compare(bytesOf(speech[index] ?? new Int16Array()), bytesOf(alone)), piece.text).toBe(0);
    }
  });

  it('is never silent for a text that passes the check', async () => {
    const pool = newPool({ threads: 2 });
    const text = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }),
      fc.string({ unit: fc.constantFrom(...'00112:.,-/$%&# ²½€'), minLength: 1, maxLength: 12 }),
    );
    await fc.assert(
      fc.asyncProperty(text, async (input) => {
        fc.pre(canBeSaid(speakableText(input)));
        expect(energy(await collect(speak(pool, input)))).toBeGreaterThan(100);
      }),
      { numRuns: 30 },
    );
  });
});

describe('the engine', () => {
  const encoders = createEncoderPool({ threads: 1 });
  const engine = createBuiltinSpeech({ threads: 2, queueMax: 64, encoders });
  afterAll(async () => {
    await engine.close();
    await encoders.close();
  });

  it('is always available and knows its voices at once', () => {
    expect(engine.availability()).toEqual({ available: true });
    const { voices, defaultVoice } = engine.voices();
    expect(voices.map(({ id }) => id)).toContain(defaultVoice);
    expect(voices.find(({ id }) => id === 'awb')?.language).toBe('en-GB');
  });

  const check = async (input: string) =>
    engine.check({ input, voice: 'rms', format: 'mp3' }, new AbortController().signal);

  it('refuses a text without anything to speak', async () => {
    await check('Hello');
    await check('&');
    for (const input of ['...?!', '\u200b\u202e', '***']) {
      await expect(check(input)).rejects.toMatchObject({ code: 'invalid_input', param: 'input' });
    }
  });

  it('prepares a text of characters with long names off the main thread', async () => {
    await check('Start the thread.');
    expect(await threadShare(() => check('\ufdfd'.repeat(4_000)))).toBeLessThan(0.5);
  });

  it.each(audioFormats)('gives %s and its duration', async (format) => {
    const output = engine.synthesize(
      { input: 'This is a test. It is short.', voice: 'rms', format },
      untilTheEnd,
    );
    expect(output.durationMs()).toBe(0);
    let bytes = 0;
    for await (const chunk of output.audio) bytes += chunk.byteLength;
    expect(output.durationMs()).toBeGreaterThan(1500);
    expect(output.durationMs()).toBeLessThan(6000);
    // PCM is 24 kHz in 16 bits for every voice.
    if (format === 'pcm') expect(bytes / 48).toBeCloseTo(output.durationMs() ?? 0, -2);
    expect(bytes).toBeGreaterThan(4000);
  });

  it('refuses an unknown voice', () => {
    expect(() => engine.synthesize({ input: 'Hello', voice: 'alloy', format: 'mp3' }, untilTheEnd)).toThrow(
      expect.objectContaining({ code: 'unknown_voice' }),
    );
  });

  it('stops on abort, in the middle of the audio', async () => {
    const abort = new AbortController();
    const output = engine.synthesize({ input: prose(4000), voice: 'rms', format: 'mp3' }, abort.signal);
    const listen = async () => {
      for await (const _ of output.audio) abort.abort();
    };
    await expect(listen()).rejects.toMatchObject({ code: 'request_cancelled' });
    expect(output.durationMs()).toBeLessThan(30_000);
  });
});

function bytesOf(samples: Int16Array): Uint8Array {
  return new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
}

/** The longest run of nearly silent windows of 10 ms. */
function longestSilenceMs(samples: Int16Array, sampleRate: number): number {
  const window = sampleRate / 100;
  let longest = 0;
  let run = 0;
  for (let start = 0; start + window <= samples.length; start += window) {
    run = energy(samples.subarray(start, start + window)) < 60 ? run + 1 : 0;
    longest = Math.max(longest, run);
  }
  return longest * 10;
}
