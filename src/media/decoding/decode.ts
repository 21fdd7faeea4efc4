/**
 * Decodes any of the ten formats to a stream of 16 kHz mono samples, with ffmpeg in a child process. A hostile file
 * costs a child of limited memory, never the server.
 */
import { endianness } from 'node:os';
import type { Readable } from 'node:stream';
import { ParleyError } from '../../core/errors.ts';
import type { MediaContainer } from '../probing/file-format.ts';
import { type Child, type ChildEnd, findPrograms, startChild } from './child-process.ts';

/** Sample rate of all decoded audio, in hertz. */
export const decodedSampleRate = 16_000;

/** The byte order of this machine, so that the bytes can be read as samples. */
const sampleFormat = endianness() === 'LE' ? 's16le' : 's16be';

/** Enough for every codec of the ten formats: 256 MB is not. */
const addressSpaceBytesMax = 384 * 1024 * 1024;
/** A decoder that writes nothing for this time while it is being read counts as hung. */
const stallMsMax = 30_000;
/** Characters of ffmpeg's messages that are read. A broken file makes it write endless messages. */
const messageCharsMax = 65_536;
/** Longer stated durations are not believed. */
const statedDurationMsMax = 30 * 24 * 3_600_000;

const demuxers = {
  flac: 'flac',
  mp3: 'mp3',
  mp4: 'mov',
  mpeg: 'mpeg',
  ogg: 'ogg',
  wav: 'wav',
  webm: 'matroska',
} as const satisfies Record<MediaContainer, string>;

export interface DecodeTools {
  readonly ffmpegPath: string;
  /** Undefined where the system has none: the decoder's memory is then not limited. */
  readonly prlimitPath: string | undefined;
}

interface DecodeOptions {
  readonly tools: DecodeTools;
  readonly container: MediaContainer;
  /** Ends the child at once; the iteration then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /**
   * Called at most once, before the first samples or soon after, with the milliseconds of audio that the container
   * states, which may be wrong. Not called for ffmpeg's estimates by bitrate.
   */
  readonly onStatedDuration?: (durationMs: number) => void;
}

/** The programs for decoding, looked up on PATH; undefined without ffmpeg. */
export function findDecodeTools(): DecodeTools | undefined {
  const found = findPrograms(['ffmpeg', 'prlimit']);
  const ffmpegPath = found.get('ffmpeg');
  return ffmpegPath === undefined ? undefined : { ffmpegPath, prlimitPath: found.get('prlimit') };
}

/**
 * The first audio stream of the file at the absolute `path`, as blocks of 16 kHz mono samples of any length. Reading
 * slowly slows the decoder; returning early ends it. A file that breaks off yields the samples before the break, or
 * rejects with `invalid_file` if there are none.
 */
export async function* decodeToPcm(
  path: string,
  options: DecodeOptions,
): AsyncGenerator<Int16Array, void, void> {
  options.signal.throwIfAborted();
  const child = startChild(options.tools.ffmpegPath, decodeArgs(path, options.container), {
    prlimitPath: options.tools.prlimitPath,
    addressSpaceBytesMax,
  });
  const kill = () => child.kill();
  options.signal.addEventListener('abort', kill, { once: true });
  readMessages(child.stderr, options.onStatedDuration);
  let sampleCount = 0;
  try {
    for await (const samples of samplesOf(child)) {
      sampleCount += samples.length;
      yield samples;
    }
    const end = await child.ended;
    options.signal.throwIfAborted();
    checkEnd(end, sampleCount);
  } finally {
    options.signal.removeEventListener('abort', kill);
    child.kill();
    await child.ended;
  }
}

function decodeArgs(path: string, container: MediaContainer): string[] {
  const demuxer = demuxers[container];
  const onlyAudio = ['-vn', '-sn', '-dn'];
  return [
    ...['-nostdin', '-hide_banner', '-nostats', '-loglevel', 'info', '-threads', '1', '-filter_threads', '1'],
    // Playlists and references in a file must reach neither the network nor files of another format.
    ...['-protocol_whitelist', 'file,pipe', '-format_whitelist', demuxer],
    ...['-f', demuxer, ...onlyAudio, '-i', `file:${path}`],
    ...['-map', '0:a:0', ...onlyAudio, '-map_metadata', '-1', '-threads', '1'],
    ...[
      '-ac',
      '1',
      '-ar',
      `${decodedSampleRate}`,
      '-c:a',
      `pcm_${sampleFormat}`,
      '-f',
      sampleFormat,
      'pipe:1',
    ],
  ];
}

async function* samplesOf(child: Child): AsyncGenerator<Int16Array, void, void> {
  let oddByte: Uint8Array = new Uint8Array(0);
  for await (const chunk of withoutStalls(child)) {
    const bytes = oddByte.length === 0 ? chunk : Buffer.concat([oddByte, chunk]);
    const evenLength = bytes.length - (bytes.length % 2);
    oddByte = bytes.subarray(evenLength);
    if (evenLength > 0) yield toSamples(bytes.subarray(0, evenLength));
  }
}

async function* withoutStalls(child: Child): AsyncGenerator<Uint8Array, void, void> {
  const chunks = chunksOf(child.stdout);
  try {
    while (true) {
      const stalled = setTimeout(() => child.kill(), stallMsMax);
      const next = await chunks.next().finally(() => clearTimeout(stalled));
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await chunks.return();
  }
}

async function* chunksOf(stream: Readable): AsyncGenerator<Uint8Array, void, void> {
  for await (const chunk of stream) {
    if (chunk instanceof Uint8Array) yield chunk;
  }
}

/** Copies, because a chunk may start at an odd address, where 16-bit samples cannot be read in place. */
function toSamples(bytes: Uint8Array): Int16Array {
  return new Int16Array(new Uint8Array(bytes).buffer);
}

/** Reads all messages, so that they never block the child, and finds the stated duration in the first of them. */
function readMessages(stderr: Readable, onStatedDuration: ((durationMs: number) => void) | undefined): void {
  let head = '';
  stderr.setEncoding('utf8');
  stderr.on('data', (text: string) => {
    if (head.length >= messageCharsMax) return;
    head += text;
    // Tags of the file are indented further, so that none of them can imitate this line.
    const line = /^ {2}Duration: (\d+):(\d\d):(\d\d)\.(\d\d),/m.exec(head);
    if (line === null) return;
    const isGuess = head.includes('Estimating duration from bitrate');
    head = ' '.repeat(messageCharsMax);
    const [, hours, minutes, seconds, hundredths] = line.map(Number);
    const durationMs =
      ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + Number(hundredths) * 10;
    if (!isGuess && durationMs > 0 && durationMs <= statedDurationMsMax) onStatedDuration?.(durationMs);
  });
}

function checkEnd(end: ChildEnd, sampleCount: number): void {
  if (end.failure !== undefined) {
    throw new ParleyError('engine_unavailable', {
      message: 'ffmpeg could not be started on this server.',
      cause: end.failure,
    });
  }
  // Out of memory, or the decoder hung and was killed. An abort by the reader never gets here.
  if (end.endSignal === 'SIGKILL')
    throw new ParleyError('upstream_error', { cause: new Error('ffmpeg was killed') });
  if (sampleCount > 0) return;
  throw new ParleyError('invalid_file', {
    message: 'No audio could be read from the file. Check that it plays, or convert it to WAV or MP3.',
    param: 'file',
    cause: new Error(`ffmpeg ended with ${end.endSignal ?? end.exitCode}`),
  });
}
