/** Audio for tests, made on demand: spoken by flite, packed by ffmpeg, cut and joined sample by sample. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Samples per second of all WAV files that are made here. */
const wavRate = 16_000;

/** The reason for a skipped test: the `programs` that this machine lacks. Undefined if it has all. */
export function missingPrograms(...programs: readonly string[]): string | undefined {
  const missing = programs.filter(
    (name) => spawnSync('/bin/sh', ['-c', 'command -v "$1"', 'sh', name]).status !== 0,
  );
  return missing.length === 0 ? undefined : `not installed: ${missing.join(', ')}`;
}

/** `text` spoken in English, as 16 kHz mono samples. @param stretch of its duration */
export function speak(text: string, voice: 'rms' | 'slt' = 'rms', stretch = 1): Promise<Int16Array> {
  return inFolder(async (folder) => {
    const path = join(folder, 'speech.wav');
    const args = ['-voice', voice, '--setf', `duration_stretch=${stretch}`, '-t', text, '-o', path];
    await run('flite', args);
    return samplesOfWav(await readFile(path));
  });
}

/** A 16-bit WAV file of 16 kHz mono samples. */
export function wavFile(samples: Int16Array): Buffer {
  const header = wavHeader({
    channels: 1,
    sampleRate: wavRate,
    bitsPerSample: 16,
    dataBytes: samples.byteLength,
  });
  return Buffer.concat([header, Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)]);
}

interface WavClaims {
  readonly channels: number;
  readonly sampleRate: number;
  readonly bitsPerSample: number;
  readonly dataBytes: number;
}

/** The 44 bytes before the samples, which may make any claim. */
export function wavHeader({ channels, sampleRate, bitsPerSample, dataBytes }: WavClaims): Buffer {
  const header = Buffer.alloc(44);
  const frameBytes = (channels * bitsPerSample) / 8;
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE((36 + dataBytes) % 2 ** 32, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE((sampleRate * frameBytes) % 2 ** 32, 28);
  header.writeUInt16LE(frameBytes % 2 ** 16, 32);
  header.writeUInt16LE(bitsPerSample, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(dataBytes, 40);
  return header;
}

/** The samples of a 16-bit WAV file of one channel. */
export function samplesOfWav(file: Buffer): Int16Array {
  const start = file.indexOf('data', 12, 'latin1') + 8;
  return new Int16Array(
    new Uint8Array(file.subarray(start, start + 2 * Math.floor((file.length - start) / 2))).buffer,
  );
}

/** `samples` as ffmpeg packs them with `args` into a file called `*.extension`. */
export function encode(samples: Int16Array, extension: string, ...args: readonly string[]): Promise<Buffer> {
  return inFolder(async (folder) => {
    const [input, output] = [join(folder, 'input.wav'), join(folder, `output.${extension}`)];
    await writeFile(input, wavFile(samples));
    await run('ffmpeg', ['-nostdin', '-v', 'error', '-i', input, ...args, output]);
    return readFile(output);
  });
}

/** The samples that ffmpeg decodes from a file, 16 kHz mono. */
export function decodeByHand(file: Uint8Array): Promise<Int16Array> {
  return inFolder(async (folder) => {
    const [input, output] = [join(folder, 'input'), join(folder, 'output.wav')];
    await writeFile(input, file);
    await run('ffmpeg', ['-nostdin', '-v', 'error', '-i', input, '-ac', '1', '-ar', `${wavRate}`, output]);
    return samplesOfWav(await readFile(output));
  });
}

/** A file that ffmpeg makes from `args` alone. */
export function generate(extension: string, ...args: readonly string[]): Promise<Buffer> {
  return inFolder(async (folder) => {
    const output = join(folder, `output.${extension}`);
    await run('ffmpeg', ['-nostdin', '-v', 'error', ...args, output]);
    return readFile(output);
  });
}

/** Joins parts; a number stands for this many milliseconds of digital silence. */
export function joinSamples(...parts: readonly (Int16Array | number)[]): Int16Array {
  const blocks = parts.map((part) =>
    typeof part === 'number' ? new Int16Array((part * wavRate) / 1000) : part,
  );
  const joined = new Int16Array(blocks.reduce((sum, block) => sum + block.length, 0));
  let at = 0;
  for (const block of blocks) {
    joined.set(block, at);
    at += block.length;
  }
  return joined;
}

/** The start and the end of sound in `samples`, in milliseconds: the first and the last sample above a twentieth of the peak. */
export function soundBounds(samples: Int16Array): { startMs: number; endMs: number } {
  const peak = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
  const isSound = (sample: number) => Math.abs(sample) > peak / 20;
  return {
    startMs: (samples.findIndex(isSound) * 1000) / wavRate,
    endMs: (samples.findLastIndex(isSound) * 1000) / wavRate,
  };
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-audio-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
