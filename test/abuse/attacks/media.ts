import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { Random } from '../../support/random.ts';
import type { Attack, AttackClass } from '../attack.ts';
import { expectStatus } from '../harness/expected.ts';
import { mebibyte } from '../harness/messages.ts';
import type { Answered, Target } from '../harness/target.ts';

const path = '/api/v1/audio/transcriptions';
const headers = { 'content-type': 'multipart/form-data; boundary=b' };
const served = [200, 400, 503];
const seed = 20_261_122;
const bytesMax = 4_000_000;

function form(file: Buffer, name: string): Buffer {
  const head = `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), file, Buffer.from('\r\n--b--\r\n')]);
}

const hear = (target: Target, file: Buffer, name: string): Promise<Answered> =>
  target.send({ path, headers, body: form(file, name), key: target.server.apiKey });

/** Half a second of speech in each format, made by the server itself. */
async function recordings(target: Target): Promise<[name: string, file: Buffer][]> {
  const speak = async (format: string): Promise<[string, Buffer]> => {
    const body = JSON.stringify({ model: 'flite', input: 'Hello.', response_format: format });
    const answered = await target.send({ path: '/api/v1/audio/speech', body, key: target.server.apiKey });
    expectStatus(answered, 200);
    return [`a.${format === 'opus' ? 'ogg' : format}`, answered.body];
  };
  return Promise.all(['wav', 'mp3', 'flac', 'opus'].map(speak));
}

function mutated(file: Buffer, random: Random): Buffer {
  const copy = Buffer.from(file);
  const near = random.onceIn(2) ? Math.min(200, copy.length) : copy.length;
  for (let count = random.between(1, 12); count > 0; count--) copy[random.below(near)] = random.below(256);
  if (random.onceIn(4)) return copy.subarray(0, random.below(copy.length));
  if (random.onceIn(4)) return Buffer.concat([copy, copy.subarray(random.below(copy.length))]);
  return copy;
}

/** Sends a few at once, as a hostile client would. */
async function mutants(target: Target, count: number): Promise<void> {
  const random = new Random(seed);
  const bases = await recordings(target);
  for (let round = 0; round < count; round += 4) {
    const files = Array.from({ length: 4 }, () => {
      const [name, file] = random.pick(bases);
      return [name, mutated(file, random)] as const;
    });
    const answers = await Promise.all(files.map(([name, file]) => hear(target, file, name)));
    for (const answer of answers) expectStatus(answer, ...served);
  }
}

function hostile(name: string, file: () => Buffer, fileName: string): Attack {
  return {
    name,
    by: 'customer',
    bytes: bytesMax,
    play: async (target) => expectStatus(await hear(target, file(), fileName), ...served),
  };
}

const repeatedHex = (unit: string, start = '') =>
  Buffer.from(start + unit.repeat((2 * bytesMax) / unit.length), 'hex');
const webm =
  '1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104428581021853806701ffffffffffffff';

export const media: AttackClass = {
  title: 'Recordings',
  attacks: [
    hostile('MP3 of nothing but sync bytes', () => repeatedHex('ff', 'ffe318c4'.padEnd(432, '0')), 'a.mp3'),
    hostile('MP3 behind 400,000 tags', () => repeatedHex('49443303000000000000'), 'a.mp3'),
    hostile(
      'MP4 of half a million boxes',
      () => repeatedHex('0000000866726565', '000000186674797069736f6d0000020069736f6d6d703432'),
      'a.mp4',
    ),
    hostile('FLAC of a million empty blocks', () => repeatedHex('01000000', '664c6143'), 'a.flac'),
    hostile('WebM of two million empty elements', () => repeatedHex('ec80', webm), 'a.webm'),
    hostile(
      'Ogg of empty pages',
      () => repeatedHex(Buffer.from('OggS'.padEnd(28, '\0')).toString('hex')),
      'a.ogg',
    ),
    hostile('WAV that says it has 65,535 channels', () => wavOf(65_535, 16), 'a.wav'),
    hostile('WAV that says it has no bits', () => wavOf(1, 0), 'a.wav'),
    {
      name: '12 mutated recordings',
      by: 'customer',
      connections: 4,
      bytes: mebibyte,
      play: (target) => mutants(target, 12),
    },
    {
      name: 'playlists that name addresses and files',
      by: 'customer',
      bytes: mebibyte,
      play: followsNoAddress,
    },
  ],
};

function wavOf(channels: number, bits: number): Buffer {
  const head = Buffer.from(
    '52494646ffffff7f57415645666d74201000000001000100803e0000007d00000200100064617461ffffff7f',
    'hex',
  );
  head.writeUInt16LE(channels, 22);
  head.writeUInt16LE(bits, 34);
  return Buffer.concat([head, Buffer.alloc(100_000)]);
}

/** The server must not open files that a file names. */
async function followsNoAddress(target: Target): Promise<void> {
  let connections = 0;
  const inside = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(inside.address() as AddressInfo).port}/a.wav`;
  const lists: readonly [string, string][] = [
    ['a.mp3', `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n${url}\n#EXT-X-ENDLIST\n`],
    ['a.mp4', `ffconcat version 1.0\nfile '${url}'\n`],
    ['a.ogg', `<?xml version="1.0"?><MPD><Period><BaseURL>${url}</BaseURL></Period></MPD>`],
    ['a.wav', '#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n'],
    [url, 'RIFF'],
  ];
  try {
    for (const [name, text] of lists) {
      const answered = await hear(target, Buffer.from(text), name);
      expectStatus(answered, 400);
      assert.ok(!answered.body.includes('root:'), 'a file of the server is in the answer');
    }
    assert.equal(connections, 0, 'an address in a playlist was opened');
  } finally {
    inside.close();
  }
}
