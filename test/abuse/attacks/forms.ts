import type { Attack, AttackClass } from '../attack.ts';
import { expectStatus } from '../harness/expected.ts';
import { mebibyte } from '../harness/messages.ts';

const headers = { 'content-type': 'multipart/form-data; boundary=b' };
const path = '/api/v1/audio/transcriptions';
const part = (head: string, content: string | Buffer) =>
  Buffer.concat([
    Buffer.from(`--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
const closing = Buffer.from('--b--\r\n');
const silence = Buffer.concat([
  Buffer.from(
    '524946462408000057415645666d74201000000001000100803e0000007d00000200100064617461000800',
    'hex',
  ),
  Buffer.alloc(2049),
]);
const file = part('name="file"; filename="a.wav"', silence);

function customer(name: string, body: () => Buffer, ...statuses: readonly number[]): Attack {
  return {
    name,
    by: 'customer',
    bytes: 4 * mebibyte,
    async play(target) {
      expectStatus(
        await target.send({ path, headers, body: body(), key: target.server.apiKey }),
        ...statuses,
      );
    },
  };
}

export const forms: AttackClass = {
  title: 'Forms',
  attacks: [
    customer(
      'a file of another name that is cut short',
      () => Buffer.from('--b\r\nContent-Disposition: form-data; name="a"; filename="x"\r\n\r\nx'),
      400,
    ),
    customer(
      'bytes after the closing boundary',
      () => Buffer.concat([file, closing, Buffer.from('more'.repeat(20_000))]),
      200,
    ),
    customer(
      'a field that is not used, of 1 MiB',
      () => Buffer.concat([part('name="more"', 'x'.repeat(mebibyte)), file, closing]),
      200,
    ),
    customer(
      'a million boundaries',
      () => Buffer.concat([Buffer.from('--b\r\n'.repeat(800_000)), closing]),
      400,
    ),
    customer(
      'a million lines that are nearly boundaries',
      () =>
        Buffer.concat([
          Buffer.from('--b\r\n\r\n'),
          Buffer.from('\r\n--bx'.repeat(600_000)),
          Buffer.from('\r\n'),
          closing,
        ]),
      400,
    ),
    customer(
      'a header of a part without an end',
      () => Buffer.from(`--b\r\nA: ${'a'.repeat(4_000_000)}`),
      400,
    ),
    customer(
      'a quoted name without an end',
      () => Buffer.concat([part(`name="${'\\"'.repeat(7_000)}`, 'x'), file, closing]),
      400,
    ),
    customer('four million spaces after a boundary', () => Buffer.from(`--b${' '.repeat(4_000_000)}`), 400),
    customer('an empty form', () => Buffer.alloc(0), 400),
  ],
};
