import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unpack } from '../../src/runtimes/unpack.ts';
import { mustRun } from '../clients/shell.ts';
import { scratchFolder } from '../support/command-line.ts';

let folder: ReturnType<typeof scratchFolder>;
beforeEach(() => {
  folder = scratchFolder();
  mkdirSync(folder.file('inside'));
});
afterEach(() => folder.remove());

const unpacked = (bytes: Uint8Array) => {
  writeFileSync(folder.file('archive'), bytes);
  return unpack(folder.file('archive'), folder.file('inside'));
};

interface Entry {
  readonly name: string;
  readonly type?: string;
  readonly target?: string;
  readonly content?: string;
  /** What the header states. Default: the length of the content */
  readonly bytes?: number;
}

/** A tar archive of entries that no tar program would write. */
function tar(entries: readonly Entry[]): Buffer {
  const parts = entries.map(({ name, type = '0', target = '', content = '', bytes = content.length }) => {
    const header = Buffer.alloc(512);
    header.write(name, 0);
    header.write('0000644\0', 100);
    header.write(bytes.toString(8).padStart(11, '0'), 124);
    header.write('        ', 148);
    header.write(type, 156);
    header.write(target, 157);
    header.write('ustar', 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    const body = Buffer.alloc(Math.ceil(content.length / 512) * 512);
    body.write(content);
    return Buffer.concat([header, body]);
  });
  return Buffer.concat([...parts, Buffer.alloc(1_024)]);
}

const file = { name: 'llama/a', content: 'content' };

describe('an archive', () => {
  const long = `${'x'.repeat(60)}/${'y'.repeat(90)}.so`;

  it.each(['gnu', 'pax', 'ustar'])(
    'in the format %s is unpacked without its first folder',
    async (format) => {
      const top = folder.file('llama-b7');
      mkdirSync(`${top}/${'x'.repeat(60)}`, { recursive: true });
      mkdirSync(`${top}/empty`);
      writeFileSync(`${top}/llama-server`, 'program', { mode: 0o755 });
      writeFileSync(`${top}/${long}`, 'é'.repeat(100_000));
      // The oldest format has no room for more.
      const target = format === 'ustar' ? 'llama-server' : long;
      symlinkSync(target, `${top}/link.so`);
      await mustRun(`tar --format=${format} -czf archive.tgz llama-b7`, { cwd: folder.path });
      await unpack(folder.file('archive.tgz'), folder.file('inside'));
      const inside = (name: string) => folder.file(`inside/${name}`);
      expect(readFileSync(inside('llama-server'), 'utf8')).toBe('program');
      expect(statSync(inside('llama-server')).mode & 0o111).not.toBe(0);
      expect(readFileSync(inside(long), 'utf8')).toBe('é'.repeat(100_000));
      expect(statSync(inside(long)).mode & 0o111).toBe(0);
      expect(readlinkSync(inside('link.so'))).toBe(target);
      expect(lstatSync(inside('empty')).isDirectory()).toBe(true);
    },
  );

  it.each<[string, (bytes: Buffer) => Uint8Array]>([
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
    ['nothing', (bytes) => bytes],
  ])('may be compressed by %s', async (_, compress) => {
    await unpacked(compress(tar([{ name: './llama/', type: '5' }, file])));
    expect(readFileSync(folder.file('inside/a'), 'utf8')).toBe('content');
  });
});

describe('nothing leaves the folder', () => {
  it.each<[string, readonly Entry[], string]>([
    ['a name with ..', [{ ...file, name: 'llama/../../evil' }], 'llama/../../evil leads out'],
    ['an absolute name', [{ ...file, name: '/llama/evil' }], '/llama/evil leads out'],
    ['an absolute link', [{ name: 'llama/evil', type: '2', target: '/etc' }], 'evil leads out'],
    ['a link upwards', [{ name: 'llama/sub/evil', type: '2', target: '../../..' }], 'sub/evil leads out'],
    [
      'a link through a link that leads up',
      [
        { name: 'llama/a/b/c/top', type: '2', target: '../../..' },
        { name: 'llama/evil', type: '2', target: 'a/b/c/top/../..' },
      ],
      'evil leads through another link',
    ],
    [
      'a link to a link that leads out',
      [
        { name: 'llama/first', type: '2', target: 'second' },
        { name: 'llama/second', type: '2', target: '../inside.txt' },
      ],
      'second leads out',
    ],
    [
      'links that lead out one step each',
      [
        { name: 'llama/a/up', type: '2', target: '..' },
        { name: 'llama/b', type: '2', target: 'a/up' },
        { name: 'llama/evil', type: '2', target: 'b/../outside' },
      ],
      'evil leads through another link',
    ],
    [
      'a link through a link that is made later',
      [
        { name: 'llama/evil', type: '2', target: 'second/x' },
        { name: 'llama/second', type: '2', target: 'sub' },
      ],
      'evil leads through another link',
    ],
    [
      'a link behind a link',
      [
        { name: 'llama/first', type: '2', target: 'second' },
        { name: 'llama/first/evil', type: '2', target: 'x' },
      ],
      'first/evil leads through another link',
    ],
    [
      'a file below a link',
      [
        { name: 'llama/sub', type: '2', target: '.' },
        { ...file, name: 'llama/sub/evil' },
      ],
      'EEXIST',
    ],
    ['a file twice', [file, file], 'EEXIST'],
    ['a hard link', [{ name: 'llama/evil', type: '1', target: 'etc' }], 'llama/evil is neither file'],
    ['a device', [{ name: 'llama/evil', type: '3' }], 'llama/evil is neither file'],
  ])('with %s', async (_, entries, message) => {
    await expect(unpacked(tar(entries))).rejects.toThrow(message);
    expect(readdirSync(folder.path).sort()).toEqual(['archive', 'inside']);
    expect(existsSync(folder.file('inside/evil'))).toBe(false);
  });
});

describe('an archive is refused', () => {
  const size = (text: string) => ({ name: 'x', type: 'x', content: `${text.length + 4} ${text}\n` });

  it.each<[string, Uint8Array, string | RegExp]>([
    ['that unpacks to too much', tar([{ ...file, bytes: 5 * 2 ** 30 }]), 'more than 4294967296 bytes'],
    [
      'that the disk has no space for',
      tar([size(`size=${2 ** 49}`), file]),
      /^it needs 562949954 MB, and the disk of .* has \d+ MB$/,
    ],
    [
      'of too many entries',
      gzipSync(tar(Array.from({ length: 10_001 }, (_, at) => ({ name: `${at}` })))),
      'more than 10000 entries',
    ],
    [
      'with a long record',
      tar([{ name: 'x', type: 'L', bytes: 65_537 }]),
      'a record of more than 65536 bytes',
    ],
    ['that ends within a file', tar([{ ...file, bytes: 5_000 }]), 'Truncated input'],
    ['without an end', tar([file]).subarray(0, 1_024), 'it ends early'],
    ['of another kind', Buffer.alloc(2_000, 'x'), 'checksum failure'],
    ['that is cut', gzipSync(tar([file])).subarray(0, 40), 'unexpected end of file'],
  ])('%s', async (_, bytes, message) => {
    await expect(unpacked(bytes)).rejects.toThrow(message);
  });

  it.each(['0 a=b', '11 size=-5\n'])(
    'not for the malformed record %j, which has no effect',
    async (content) => {
      await unpacked(tar([{ name: 'x', type: 'x', content }, file]));
      expect(readFileSync(folder.file('inside/a'), 'utf8')).toBe('content');
    },
  );
});
