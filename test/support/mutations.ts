/** Broken recordings: files of all formats, changed at random places. */
import { availableParallelism } from 'node:os';
import { createFilePool, type FilePool } from '../../src/engines/recordings/file-pool.ts';
import type { MediaContainer } from '../../src/media/formats/file-format.ts';
import { hearingModule } from '../../src/media/wasm-instance.ts';
import { encode } from './audio-files.ts';
import type { Random } from './random.ts';

/** Arguments of ffmpeg for a file in every container, and for every codec of the decoder. */
const packings: readonly [MediaContainer, string, ...string[]][] = [
  ['flac', 'flac'],
  ['mp3', 'mp3', '-c:a', 'libmp3lame'],
  ['mp3', 'mp3', '-c:a', 'libmp3lame', '-q:a', '4', '-write_xing', '0', '-id3v2_version', '0'],
  ['mp3', 'mpga', '-c:a', 'mp2', '-f', 'mp2'],
  ['mp4', 'm4a', '-c:a', 'aac'],
  ['mp4', 'm4a', '-c:a', 'alac'],
  ['mp4', 'mp4', '-c:a', 'aac', '-movflags', 'frag_keyframe+empty_moov'],
  ['mpeg', 'mpeg', '-c:a', 'mp2', '-f', 'mpeg'],
  ['mpeg', 'mpeg', '-c:a', 'ac3', '-f', 'mpeg'],
  ['ogg', 'ogg', '-c:a', 'libvorbis'],
  ['ogg', 'ogg', '-c:a', 'libopus'],
  ['ogg', 'ogg', '-c:a', 'flac'],
  ['wav', 'wav'],
  ['wav', 'wav', '-c:a', 'pcm_f32le', '-ac', '2'],
  ['wav', 'wav', '-c:a', 'adpcm_ima_wav'],
  ['webm', 'webm', '-c:a', 'libopus'],
  ['webm', 'webm', '-c:a', 'libvorbis'],
];

export interface Recording {
  readonly container: MediaContainer;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** A second of a rising tone in every format. */
export function recordings(): Promise<Recording[]> {
  const tone = Int16Array.from({ length: 16_000 }, (_, at) => 8000 * Math.sin((at * at) / 90_000));
  return Promise.all(
    packings.map(async ([container, extension, ...args]) => {
      const file = await encode(tone, extension, ...args);
      return { container, bytes: new Uint8Array(file) };
    }),
  );
}

/** The recording with one to twenty changes: changed bytes, changed ranges, or a missing end. */
export function mutated({ container, bytes }: Recording, random: Random): Recording {
  let changed = bytes.slice();
  for (let change = random.between(1, 20); change > 0 && changed.length > 0; change--) {
    // Most is decided by headers, which are at the beginning.
    const at = random.below(random.onceIn(2) ? changed.length : Math.min(changed.length, 512));
    const length = random.below(64);
    switch (random.below(6)) {
      case 0:
        changed = changed.slice(0, random.between(1, changed.length));
        break;
      case 1:
        changed.fill(random.pick([0, 0x7f, 0x80, 0xff]), at, at + length);
        break;
      case 2:
        changed.copyWithin(at, random.below(changed.length), at + length);
        break;
      case 3:
        changed = new Uint8Array([...changed.subarray(0, at), ...changed.subarray(at + length)]);
        break;
      default:
        changed[at] = random.below(256);
    }
  }
  return { container, bytes: changed };
}

export interface Outcome {
  /** Number of decoded samples. */
  readonly samples: number;
  /** The code of the error that refused the file. */
  readonly code: string | undefined;
}

/** Decodes a file like a request does, and checks that it has at most `samplesMax` samples. */
export async function outcomeOf(
  pools: FilePool,
  { container, bytes }: Recording,
  samplesMax: number,
): Promise<Outcome> {
  const file = { module: await hearingModule('decoder'), container, bytes: bytes.slice() };
  let samples = 0;
  try {
    for await (const { sampleCount } of pools.cuts(file, new AbortController().signal)) {
      samples = sampleCount;
      if (samples > samplesMax) break;
    }
    return { samples, code: undefined };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    return { samples, code };
  }
}

export function openPools(): FilePool {
  return createFilePool(availableParallelism());
}
