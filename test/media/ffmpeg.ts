import { spawn } from 'node:child_process';
import { buffer, text } from 'node:stream/consumers';

/**
 * Decodes a whole file to mono 16-bit samples at `sampleRate`. The file is streamed on stdin, as to a player. Fails if
 * ffmpeg reports the file as broken.
 */
export async function decode(file: Uint8Array, sampleRate: number): Promise<Int16Array> {
  const args = [
    '-hide_banner',
    '-v',
    'error',
    '-i',
    'pipe:0',
    '-f',
    's16le',
    '-ac',
    '1',
    '-ar',
    `${sampleRate}`,
    '-',
  ];
  const child = spawn('ffmpeg', args);
  const started = new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) =>
      reject(
        new Error('These tests decode with ffmpeg, which is not installed (Debian: apt install ffmpeg).', {
          cause,
        }),
      ),
    );
  });
  await started;
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  child.stdin.on('error', () => undefined); // ffmpeg may stop reading early; its exit code and messages say why
  child.stdin.end(file);
  const [bytes, messages, code] = await Promise.all([buffer(child.stdout), text(child.stderr), closed]);
  // Every WAV of unknown length ends within a packet of ffmpeg's own size. ffmpeg reports that, and still decodes all
  // of it.
  const complaints = messages
    .split('\n')
    .filter((line) => line !== '' && !line.includes('corrupt input packet'));
  if (code !== 0 || complaints.length > 0)
    throw new Error(`ffmpeg ended with ${code}: ${complaints.join('; ')}`);
  return toSamples(bytes);
}

/** The samples of little-endian bytes. */
export function toSamples(bytes: Uint8Array): Int16Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Int16Array.from({ length: Math.floor(bytes.length / 2) }, (_, index) =>
    view.getInt16(index * 2, true),
  );
}
