import assert from 'node:assert/strict';
import { wavHeader } from '../../support/audio-files.ts';
import type { FuzzTarget } from '../target.ts';
import { withParley } from './served.ts';

const names = ['a.wav', 'a.mp3', 'a.flac', 'a.ogg', 'a.webm', 'a.mp4', 'a.mpeg'];
const wav = Buffer.concat([
  wavHeader({ channels: 1, sampleRate: 16_000, bitsPerSample: 16, dataBytes: 3200 }),
  Buffer.alloc(3200),
]);
const hex = (text: string) => Buffer.from(text, 'hex');
const named = (name: number, file: Buffer) => Buffer.concat([Buffer.from([name]), file]);

/** A recording, which is served or refused. The first byte chooses its name. */
export const media: FuzzTarget = {
  seeds: [
    named(0, wav),
    named(1, hex('ffe318c4'.padEnd(144, '0').repeat(3))),
    named(2, hex('664c614380000022100010000000000000000ac442f0000000000000000000000000000000000000000000')),
    named(
      3,
      Buffer.from(`OggS\0\x02${'\0'.repeat(20)}\x01\x13OpusHead\x01\x01\0\0\x80\xbb\0\0\0\0\0`, 'latin1'),
    ),
    named(
      4,
      hex(
        '1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104428581021853806701ffffffffffffff1f43b675ff',
      ),
    ),
    named(5, hex('000000186674797069736f6d0000020069736f6d6d7034320000000866726565')),
    named(6, hex('000001ba2100010001800001000001e000000000')),
  ],
  words: [
    'RIFF',
    'WAVEfmt ',
    'data',
    'LIST',
    'fLaC',
    'OggS',
    'OpusHead',
    'OpusTags',
    'ftyp',
    'moov',
    'trak',
    'mdat',
    'ID3',
    '\xff\xfb',
    '\x1aE\xdf\xa3',
    '\x7f\xff\xff\xff',
    '\xff\xff\xff\xff',
  ],
  open: () =>
    withParley(async (parley, input) => {
      const body = new FormData();
      const name = names[(input[0] ?? 0) % names.length] ?? 'a.wav';
      body.set('file', new Blob([new Uint8Array(input.subarray(1))]), name);
      const response = await parley.call('/audio/transcriptions', { method: 'POST', body });
      const answer = await response.text();
      assert.ok([200, 400].includes(response.status), `${response.status}: ${answer}`);
    }),
};
