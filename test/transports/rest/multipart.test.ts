import { describe, expect, it } from 'vitest';
import { boundaryOf, type Form, parseForm } from '../../../src/transports/rest/multipart.ts';

const used = new Map(['model', 'language', 'list[]'].map((name) => [name, 65_536]));
const end = '--b--\r\n';
const part = (disposition: string, content: string, ...headers: string[]) =>
  `--b\r\n${[`Content-Disposition: form-data; ${disposition}`, ...headers].join('\r\n')}\r\n\r\n${content}\r\n`;
const file = (disposition = 'filename="a.wav"', content = 'RIFF') =>
  part(`name="file"; ${disposition}`, content);
const parse = (text: string): Form => parseForm(Buffer.from(text), 'b', used);
const fileNameOf = (disposition: string) => parse(file(disposition) + end).file?.name;
const invalid = expect.objectContaining({ code: 'invalid_request_error' });

describe('a form', () => {
  it('returns its file and the values of the used fields, in order', () => {
    const { file: found, fields } = parse(
      part('name="list[]"', 'one') +
        file() +
        part('name="list[]"', 'two\r\nlines') +
        part('name="x"', '3') +
        end,
    );
    expect(found).toMatchObject({ name: 'a.wav', bytes: Buffer.from('RIFF') });
    expect(Object.fromEntries(fields)).toEqual({ 'list[]': ['one', 'two\r\nlines'] });
  });

  it('is refused if it is cut at any byte before its closing boundary ends', () => {
    const whole = part('name="model"', 'm') + file() + part('name="audio"; filename="b.wav"', 'x');
    for (let length = 0; length < whole.length + '--b--'.length; length++) {
      expect(() => parse((whole + end).slice(0, length)), `${length} bytes`).toThrow(invalid);
    }
    expect(parse((file() + end).slice(0, -2)).file?.name).toBe('a.wav');
  });

  it('returns its file or is refused, whichever byte is changed or missing', () => {
    const whole = part('name="model"', 'm') + file() + end;
    for (let at = 0; at < whole.length; at++) {
      for (const byte of ['', '\0', '\n', '"', '-', '\\', 'é']) {
        const mutated = whole.slice(0, at) + byte + whole.slice(at + 1);
        try {
          expect(parse(mutated).fields.size).toBeLessThanOrEqual(1);
        } catch (error) {
          expect(error, JSON.stringify(mutated)).toEqual(invalid);
        }
      }
    }
  });

  it.each([
    ['text before the first boundary', `preamble\r\n${file()}${end}`],
    ['text after the last boundary', `${file()}${end}epilogue`],
    ['another form after the last boundary', `${file()}${end}${file()}${end}`],
    ['text on the line of the last boundary', `${file()}--b--text`],
    ['blanks after a boundary', `${file().replace('--b', '--b \t')}${end}`],
    ['a header over two lines', `${file('\r\n filename="a.wav"')}${end}`],
    ['header names in other case', `${file().replace('Content-Disposition', 'CONTENT-disposition')}${end}`],
    [
      'other headers',
      `${part('name="file"; filename="a.wav"', 'RIFF', 'Content-Type: audio/wav', 'X: y')}${end}`,
    ],
    ['a part without headers', `--b\r\n\r\ntext\r\n${file()}${end}`],
    ['a part without a name', `${part('filename="b.wav"', 'x')}${file()}${end}`],
  ])('may have %s', (_, text) => {
    expect(parse(text).file).toMatchObject({ name: 'a.wav', bytes: Buffer.from('RIFF') });
  });

  it('may number the values of a list', () => {
    const { fields } = parse(part('name="list[0]"', 'one') + part('name="list[11]"', 'two') + file() + end);
    expect(Object.fromEntries(fields)).toEqual({ 'list[]': ['one', 'two'] });
  });

  it('may contain its boundary inside a line, and at the beginning of a longer one', () => {
    const content = '--b x --b--\r\n--bc\r\n-\r\n--a';
    expect(parse(file(undefined, content) + end).file?.bytes).toEqual(Buffer.from(content));
  });

  it('may have a file of bytes that are not text', () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const [head = '', tail = ''] = (file(undefined, '*') + end).split('*');
    const form = parseForm(Buffer.concat([Buffer.from(head), bytes, Buffer.from(tail)]), 'b', used);
    expect(form.file?.bytes).toEqual(bytes);
  });

  it('may have many large unused fields', () => {
    const others = [
      part('name="prompt"', 'x'.repeat(70_000)),
      part('name="known_speaker_references[]"', 'x'.repeat(150_000)),
      ...Array.from({ length: 40 }, () => part('name="keywords[]"', 'word')),
    ];
    const { file: found, fields } = parse(others.join('') + file() + end);
    expect(found?.name).toBe('a.wav');
    expect(fields.size).toBe(0);
  });

  it.each([
    ['no boundary', 'RIFF'],
    ['another boundary', (file() + end).replaceAll('--b', '--c')],
    ['lines that end in LF alone', (file() + end).replaceAll('\r\n', '\n')],
    ['a part without a blank line', `--b\r\nContent-Disposition: form-data; name="x"\r\n${end}`],
    ['nothing between two boundaries', `--b\r\n${end}`],
    ['17 KB of headers in a part', `${part('name="x"', 'y', `X: ${'z'.repeat(17_000)}`)}${end}`],
    ['a field of 70 KB that is used', `${file()}${part('name="language"', 'x'.repeat(70_000))}${end}`],
    ['33 parameters of a part', `${part(`name="x"${'; a=b'.repeat(32)}`, 'y')}${end}`],
    ['1,101 parts', part('name="x"', '').repeat(1_101) + end],
    ['a quote in a name as it is', `${file('filename="a"b.wav"')}${end}`],
    ['a name without its last quote', `${file('filename="a.wav')}${end}`],
    ['two files', `${file()}${file()}${end}`],
    ['a file in another field', `${file()}${part('name="audio"; filename="a.wav"', 'x')}${end}`],
  ])('is refused if it has %s', (_, text) => {
    expect(() => parse(text)).toThrow(invalid);
  });
});

describe('the name of a file', () => {
  it.each([
    ['filename="a \\"b\\".wav"', 'a "b".wav'],
    ['filename="a;b=c, d.wav"', 'a;b=c, d.wav'],
    ['filename="naïve 音.wav"', 'naïve 音.wav'],
    ['filename=a.wav', 'a.wav'],
    ['filename=""', ''],
    ['FileName = "a.wav" ;', 'a.wav'],
    ['filename="C:\\sounds\\a.wav"', 'a.wav'],
    ['filename="../../etc/a.wav"', 'a.wav'],
    ["filename*=UTF-8''na%C3%AFve.wav", 'naïve.wav'],
    ['filename="a.wav"; filename*=utf-8\'en\'b%22.wav', 'b".wav'],
    ['filename="a.wav"; filename*=UTF-8\'\'%ZZ', 'a.wav'],
    ['filename="a.wav"; filename*=latin1\'\'b', 'a.wav'],
    ["filename*=latin1''b", ''],
    ["filename*=iso-8859-1''na%EFve.wav", 'naïve.wav'],
  ])('is read from %s', (disposition, name) => {
    expect(fileNameOf(disposition)).toBe(name);
  });

  it.each(['application/octet-stream', 'application/ogg', 'audio/wav', 'video/mp4; codecs=x'])(
    'makes the part a file, as does its type %s',
    (type) => {
      expect(parse(part('name="file"', 'RIFF', `Content-Type: ${type}`) + end).file).toMatchObject({
        name: '',
      });
      expect(parse(part('name="file"', 'RIFF', 'Content-Type: text/plain') + end).file).toBeUndefined();
      expect(parse(part('name="file"', 'RIFF') + end).file).toBeUndefined();
    },
  );
});

describe('the boundary of a form', () => {
  it.each([
    ['multipart/form-data; boundary=b', 'b'],
    ['Multipart/Form-Data;charset=utf-8;BOUNDARY="a b"', 'a b'],
    [`multipart/form-data; boundary=${'b'.repeat(70)}`, 'b'.repeat(70)],
    ["multipart/form-data; boundary=-'()+_,./:=?; x=y", "-'()+_,./:=?"],
  ])('is read from %s', (contentType, boundary) => {
    expect(boundaryOf(contentType)).toBe(boundary);
  });

  it.each([
    '',
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; xboundary=b',
    `multipart/form-data; boundary=${'b'.repeat(71)}`,
    'multipart/mixed; boundary=b',
    'application/json; boundary=b',
  ])('is missing in “%s”', (contentType) => {
    expect(() => boundaryOf(contentType)).toThrow(invalid);
  });
});
