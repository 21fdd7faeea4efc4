/** How long a recording is, read from its container without decoding it. */
import { parseBuffer } from 'music-metadata';
import { readWavHead } from '../encoders/wav-head.ts';
import type { MediaContainer } from './file-format.ts';
import { flacLastFrameMs } from './probe-flac.ts';
import { webmLastBlockMs } from './probe-webm.ts';

/** What claims to be longer is not believed. */
const durationMsMax = 24 * 60 * 60 * 1000;

/** By these the parser is chosen. Of an MPEG program stream it knows nothing, and in a WAV it believes what is claimed. */
const mimeTypes: Readonly<Record<MediaContainer, string | undefined>> = {
  flac: 'audio/flac',
  mp3: 'audio/mpeg',
  mp4: 'audio/mp4',
  mpeg: undefined,
  ogg: 'audio/ogg',
  wav: undefined,
  webm: 'audio/webm',
};

/**
 * Milliseconds of audio, more than 0; undefined where they cannot be told. On a hostile file it may block its thread for
 * half a minute.
 */
export async function readDurationMs(
  bytes: Uint8Array,
  container: MediaContainer,
): Promise<number | undefined> {
  return believable(await statedMs(bytes, container)) ?? believable(foundMs(bytes, container));
}

async function statedMs(bytes: Uint8Array, container: MediaContainer): Promise<number | undefined> {
  const mimeType = mimeTypes[container];
  if (mimeType === undefined) return undefined;
  try {
    const file = { mimeType, size: bytes.length };
    const { format } = await parseBuffer(bytes, file, { duration: true, skipCovers: true });
    return (format.duration ?? 0) * 1000;
  } catch {
    // Whatever is wrong with the file, its length is unknown; whether it can be transcribed is not decided here.
    return undefined;
  }
}

/** By the samples that are there. */
function foundMs(bytes: Uint8Array, container: MediaContainer): number | undefined {
  switch (container) {
    case 'wav':
      return wavMs(bytes);
    case 'webm':
      return webmLastBlockMs(bytes);
    case 'flac':
      return flacLastFrameMs(bytes);
    default:
      return undefined;
  }
}

function wavMs(bytes: Uint8Array): number | undefined {
  const head = readWavHead(bytes);
  if (head === undefined) return undefined;
  const there = bytes.length - head.dataAt;
  return (Math.min(head.dataBytes || there, there) * 1000) / head.bytesPerSecond;
}

function believable(durationMs: number | undefined): number | undefined {
  if (durationMs === undefined || Number.isNaN(durationMs)) return undefined;
  return durationMs > 0 && durationMs <= durationMsMax ? durationMs : undefined;
}
