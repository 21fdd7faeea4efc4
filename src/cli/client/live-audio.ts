/** Speech for a live session: a WAV file at the pace of its speaker, a pipe, or the microphone. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileReason } from '../../files/reason.ts';
import { readWavHead, unknownLength, type WavHead } from '../../media/encoders/wav.ts';
import { CliError } from '../terminal/command.ts';

export interface LiveAudio {
  /** Hertz. */
  readonly sampleRate: number;
  /** One channel of 16-bit little-endian samples, as they are spoken. */
  readonly parts: AsyncIterable<Uint8Array>;
}

/** A part of audio lasts at most so long. */
const partMs = 100;
const headBytesMax = 64 * 1024;

/** @param file a WAV file; `-` is standard input, with plain samples; undefined the microphone */
export async function openLiveAudio(
  file: string | undefined,
  rate: number,
  signal: AbortSignal,
): Promise<LiveAudio> {
  if (file === '-') return { sampleRate: rate, parts: partsOf(process.stdin, rate) };
  if (file === undefined) return { sampleRate: rate, parts: partsOf(await microphone(rate, signal), rate) };
  const head = await readHead(file);
  const { sampleRate, dataAt, dataBytes } = head;
  // Other chunks may follow the samples. A file that was written as a stream does not know where they end.
  const isKnown = dataBytes > 0 && dataBytes < unknownLength;
  const stream = createReadStream(file, { start: dataAt, ...(isKnown && { end: dataAt + dataBytes - 1 }) });
  return { sampleRate, parts: atItsPace(partsOf(stream, sampleRate), sampleRate, signal) };
}

async function readHead(file: string): Promise<WavHead> {
  try {
    const handle = await open(file);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytesMax)).finally(() => handle.close());
    const head = readWavHead(buffer.subarray(0, bytesRead));
    if (head?.encoding === 1 && head.channels === 1 && head.bitsPerSample === 16) return head;
  } catch (error) {
    throw new CliError(`${file}: It cannot be read (${fileReason(error)}). Check the name.`, error);
  }
  const advice = `Convert it: ffmpeg -i '${file}' -ac 1 -ar 16000 -c:a pcm_s16le '${file}.wav'`;
  throw new CliError(`${file}: It is no WAV file of one channel with 16 bits. ${advice}`);
}

/** The programs that record on Linux, best known first. */
const recorders = (rate: number): readonly (readonly [string, ...string[]])[] => [
  ['arecord', '-q', '-t', 'raw', '-f', 'S16_LE', '-c', '1', '-r', String(rate)],
  ['parec', '--raw', '--format=s16le', '--channels=1', `--rate=${rate}`],
  ['rec', '-q', '-t', 'raw', '-e', 'signed', '-b', '16', '-c', '1', '-r', String(rate), '-'],
];

async function microphone(rate: number, signal: AbortSignal): Promise<Readable> {
  const recorder = await startFirst(recorders(rate), ['ignore', 'pipe', 'inherit'], signal);
  if (recorder?.stdout) return recorder.stdout;
  throw new CliError(
    'No program records here. Install one (apt-get install alsa-utils), or send samples: `... | parley listen -`.',
  );
}

/** Starts the first of these programs that is installed. */
export async function startFirst(
  programs: readonly (readonly [string, ...string[]])[],
  stdio: StdioOptions,
  signal: AbortSignal,
): Promise<ChildProcess | undefined> {
  for (const [program, ...args] of programs) {
    const child = spawn(program, args, { stdio, signal });
    const hasStarted = await new Promise<boolean>((resolve) => {
      child.once('spawn', () => resolve(true)).on('error', () => resolve(false));
    });
    if (hasStarted) return child;
  }
  return undefined;
}

/** Divides audio into short parts. */
async function* partsOf(stream: Readable, rate: number): AsyncGenerator<Uint8Array> {
  const bytesMax = 2 * Math.round((rate * partMs) / 1000);
  for await (const bytes of stream as AsyncIterable<Buffer>) {
    for (let at = 0; at < bytes.length; at += bytesMax) yield bytes.subarray(at, at + bytesMax);
  }
}

/** Gives each part when its first sample is spoken. */
async function* atItsPace(
  parts: AsyncIterable<Uint8Array>,
  rate: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const startedAt = performance.now();
  let bytes = 0;
  for await (const part of parts) {
    const spokenMs = (bytes / 2 / rate) * 1000;
    await sleep(Math.max(0, startedAt + spokenMs - performance.now()), undefined, { signal });
    bytes += part.length;
    yield part;
  }
}
