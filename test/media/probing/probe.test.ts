/** Durations that are read from containers: exact for good files; for hostile files undefined or found in bounded time. */
import { afterAll, describe, expect, it } from 'vitest';
import { detectContainer } from '../../../src/media/formats/file-format.ts';
import { missingHearing } from '../../../src/media/hearing-files.ts';
import { createDurationProbe } from '../../../src/media/probing/probe.ts';
import { encode, missingPrograms, wavFile, wavHeader } from '../../support/audio-files.ts';

const unheard = missingHearing();
const missing = unheard ?? missingPrograms('ffmpeg');
if (missing !== undefined) process.stderr.write(`probe.test.ts is skipped in part: ${missing}\n`);

/** On a busy machine a thread may take seconds to start. */
const patienceMs = 60_000;
const probe = createDurationProbe(patienceMs);
afterAll(() => probe.close());
const durationOf = (file: Uint8Array) => probe.durationMs(file, detectContainer(file, undefined));

const samples = Int16Array.from({ length: 16_000 * 6 }, (_, at) => 8000 * Math.sin(at / 9));
const largest = 4_000_000;

const ftyp = Buffer.from('000000186674797069736f6d0000020069736f6d6d703432', 'hex');

/** An MP4 whose header states this duration in milliseconds. */
function mp4OfDuration(duration: number): Buffer {
  const box = (name: string, ...content: readonly Buffer[]): Buffer => {
    const body = Buffer.concat(content);
    const head = Buffer.alloc(8);
    head.writeUInt32BE(8 + body.length);
    head.write(name, 4, 'latin1');
    return Buffer.concat([head, body]);
  };
  const mvhd = Buffer.alloc(100);
  mvhd.writeUInt32BE(1000, 12);
  mvhd.writeUInt32BE(duration, 16);
  return Buffer.concat([ftyp, box('moov', box('mvhd', mvhd)), box('mdat', Buffer.alloc(1000))]);
}

/** A WebM of unknown length with these elements. */
function webm(elements: string): Buffer {
  const head =
    '1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104428581021853806701ffffffffffffff';
  return Buffer.from(head + elements, 'hex');
}

describe.skipIf(unheard !== undefined)('the durations of many files', () => {
  it('are all read, also of one account', async () => {
    const file = wavFile(samples);
    const durations = Array.from({ length: 32 }, () => probe.durationMs(file, 'wav', 'acc_many'));
    expect(new Set(await Promise.all(durations))).toEqual(new Set([6000]));
  });
});

describe.skipIf(missing !== undefined)('the duration is read from', () => {
  it.each([
    ['WAV of 16 bits', 'wav', []],
    ['WAV of 24 bits, 48 kHz stereo', 'wav', ['-c:a', 'pcm_s24le', '-ar', '48000', '-ac', '2']],
    ['WAV of A-law', 'wav', ['-c:a', 'pcm_alaw', '-ar', '8000']],
    ['FLAC', 'flac', []],
    ['FLAC without its length', 'flac', ['-seekable', '0']],
    ['FLAC without its length, 44.1 kHz stereo', 'flac', ['-ar', '44100', '-ac', '2', '-seekable', '0']],
    ['AAC in m4a', 'm4a', ['-c:a', 'aac']],
    ['AAC in mp4, in fragments', 'mp4', ['-c:a', 'aac', '-movflags', 'frag_keyframe+empty_moov']],
    ['MP3', 'mp3', ['-c:a', 'libmp3lame']],
    [
      'MP3 of a constant rate without any tag',
      'mp3',
      ['-c:a', 'libmp3lame', '-write_xing', '0', '-id3v2_version', '0'],
    ],
    [
      'MP3 of a variable rate without any tag',
      'mp3',
      ['-c:a', 'libmp3lame', '-q:a', '4', '-write_xing', '0'],
    ],
    ['MPEG audio of layer II', 'mpga', ['-c:a', 'mp2', '-f', 'mp2']],
    ['Vorbis in Ogg', 'ogg', ['-c:a', 'libvorbis']],
    ['Opus in Ogg', 'ogg', ['-c:a', 'libopus']],
    ['FLAC in Ogg', 'ogg', ['-c:a', 'flac']],
    ['Opus in WebM', 'webm', ['-c:a', 'libopus']],
    ['Opus in WebM as browsers record it', 'webm', ['-c:a', 'libopus', '-live', '1']],
  ])('%s', async (_, extension, args) => {
    const durationMs = await durationOf(await encode(samples, extension, ...args));
    expect(Math.abs((durationMs ?? 0) - 6000)).toBeLessThan(100);
  });
});

describe.skipIf(unheard !== undefined)('a WAV has no more samples than bytes', () => {
  const claims = { channels: 1, sampleRate: 16_000, bitsPerSample: 16 };
  const body = wavFile(samples).subarray(44);
  it.each([0, 2 ** 31 - 1, 2 ** 32 - 1])('if it states %d bytes', async (dataBytes) => {
    const file = Buffer.concat([wavHeader({ ...claims, dataBytes }), body]);
    expect(Math.abs(((await durationOf(file)) ?? 0) - 6000)).toBeLessThan(5);
  });
});

describe.skipIf(unheard !== undefined)('an impossible duration is not believed', () => {
  const xing = (frames: number) => {
    const frame = Buffer.alloc(417);
    frame.write('fffb9064', 'hex');
    frame.write('Xing', 36, 'latin1');
    frame.writeUInt32BE(1, 40);
    frame.writeUInt32BE(frames, 44);
    return Buffer.concat([
      frame,
      frame.subarray(0, 4),
      Buffer.alloc(413),
      frame.subarray(0, 4),
      Buffer.alloc(413),
    ]);
  };
  it.each([
    ['an MP3 of no frames', xing(0)],
    ['an MP3 of years', xing(2 ** 32 - 1)],
    ['an MP4 of years', mp4OfDuration(2 ** 32 - 2)],
    ['an MP4 of nothing', mp4OfDuration(0)],
    ['Ogg without more', Buffer.from('OggS'.padEnd(5000, '\x03'))],
    ['a WebM whose blocks lie in another age', webm('1f43b675ffe788ffffffffffffffffa383810000')],
    ['WebM without more', webm('')],
    ['FLAC without more', Buffer.from('fLaC')],
    ['an MPEG program stream', Buffer.from('000001ba'.padEnd(400, '0'), 'hex')],
  ])('%s', async (_, file) => {
    const durationMs = await durationOf(file);
    expect(durationMs === undefined || (durationMs > 0 && durationMs < 60_000)).toBe(true);
  });
});

const frames = Buffer.concat(new Array<Buffer>(3).fill(Buffer.from('ffe318c4'.padEnd(144, '0'), 'hex')));

describe.skipIf(unheard !== undefined)('a hostile file', () => {
  it('blocks neither the server nor the next file for long', async () => {
    const hostile = Buffer.concat([frames, Buffer.alloc(largest, 0xff)]);
    const probing = probe.durationMs(hostile, 'mp3');
    expect(await probe.durationMs(wavFile(samples), 'wav')).toBe(6000);
    expect(await probing).toBeLessThan(1000);
  });

  it('with random bytes never crashes the parser', async () => {
    const heads = ['OggS', 'fLaC', 'RIFF\0\0\0\0WAVEfmt ', 'ID3\x04'].map((head) =>
      Buffer.from(head, 'latin1'),
    );
    for (const head of [...heads, ftyp, webm('1f43b675ff')]) {
      for (let round = 0; round < 30; round++) {
        const noise = Uint8Array.from(
          { length: 300 },
          (_, at) => Math.imul(at + 1, round * 2654435761) >>> 23,
        );
        const file = Buffer.concat([head, noise]);
        await expect(durationOf(file)).resolves.not.toBeNaN();
      }
    }
  });
});

describe.skipIf(unheard !== undefined)('a probe that is closed', () => {
  it('ends the running probe, and refuses more', async () => {
    const own = createDurationProbe();
    const running = [Buffer.alloc(largest, 0xff), wavFile(samples)].map((file) =>
      own.durationMs(file, 'mp3'),
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    await own.close();
    expect(await Promise.all(running)).toEqual([undefined, undefined]);
    expect(await own.durationMs(wavFile(samples), 'wav')).toBeUndefined();
  });
});
