/** Reads the duration of a recording from its container, without decoding. */
import { parseBuffer } from 'music-metadata';
import { readWavHead } from '../encoders/wav.ts';
import type { MediaContainer } from './file-format.ts';
import { flacLastFrameMs } from './probe-flac.ts';
import { webmLastBlockMs } from './probe-webm.ts';

/** Longer durations are not believed. */
const durationMsMax = 24 * 60 * 60 * 1000;

/** They select the parser, which does not know MPEG program streams, and believes any length that a WAV file states. */
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
 * Milliseconds of audio, more than 0; undefined where the file does not show them. A hostile file may block the thread
 * for half a minute.
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
    // The duration of a broken file is unknown; whether it can be transcribed is not decided here.
    return undefined;
  }
}

/** The duration by the samples in the file. */
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
