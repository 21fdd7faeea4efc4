/**
 * Requests whose end two readers may see in different places. Each hides `GET /api/v1/models` with a key in the part
 * that one reader takes for the body. The visible request has no key. `{key}` stands for the key.
 */

const path = '/api/v1/chat/completions';
const hidden = 'GET /api/v1/models HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\n\r\n';
const post = (...headers: string[]) =>
  `POST ${path} HTTP/1.1\r\nhost: a\r\n${headers.map((each) => `${each}\r\n`).join('')}\r\n`;

/**
 * Requests with both lengths, in every spelling of the encoding. A reader that overlooks the encoding sees the hidden
 * request.
 */
const encodings = [
  'Transfer-Encoding: chunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding: \x0bchunked',
  'Transfer-Encoding: chunked\x00',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: identity, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding: CHUNKED',
  'Transfer-Encoding: chunked;q=1',
  'Transfer-Encoding:',
  'Transfer-Encoding: identity',
  'transfer-encoding: cow\r\ntransfer-encoding: chunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
  'Transfer-Encoding\r\n : chunked',
  ' Transfer-Encoding: chunked',
  'X: y\nTransfer-Encoding: chunked',
  'X: y\rTransfer-Encoding: chunked',
  'Transfer_Encoding: chunked',
];
const zeroChunk = '0\r\n\r\n';

const lengths = [
  '+5',
  '-5',
  '0x5',
  '5,5',
  '5, 6',
  '5 5',
  '05_',
  '5.0',
  '1e1',
  '',
  ' ',
  '\x0b5',
  '５',
  '99999999999999999999',
  '18446744073709551621',
];

/** Chunks whose size two readers may see differently. */
const chunks = [
  '-1\r\n',
  '0x0\r\n\r\n',
  '+0\r\n\r\n',
  '00000000000000000\r\n\r\n',
  '10000000000000000\r\n',
  'fffffffffffffffff\r\n',
  '1 \r\nx\r\n',
  '1;\r\nx\r\n',
  '1;a=\r\nx\r\n',
  '1;a="\n"\r\nx\r\n',
  '1\nx\n',
  '1\rx\r',
  '1\r\nxy',
  '1\r\nx\n0\n\n',
  'g\r\n',
  ' 0\r\n\r\n',
  '\r\n0\r\n\r\n',
  '0\n\n',
  '0\r\nA: b\r\nContent-Length: 0\r\n\r\n',
  '0\r\nTransfer-Encoding: chunked\r\n\r\n',
  '0\r\n\n',
  '0\r\r\n\r\n',
  '1;\0=x\r\nx\r\n',
];

const heads: readonly [string, string][] = [
  ['a bare line feed', `POST ${path} HTTP/1.1\nhost: a\ncontent-length: 0\n\n`],
  ['a bare carriage return', `POST ${path} HTTP/1.1\rhost: a\r\rcontent-length: 0\r\r`],
  ['a folded header', post('a: b', ' c: d', 'content-length: 0')],
  ['a zero byte in a header', post('a: b\0c', 'content-length: 0')],
  ['a zero byte in a name', post('a\0: b', 'content-length: 0')],
  ['a header without a name', post(': b', 'content-length: 0')],
  ['a header without a colon', post('content-length 5')],
  ['a space before the colon', post('content-length : 5')],
  ['letters beyond ASCII in a name', post('cöntent-length: 5')],
  ['a space in the path', `POST ${path} x HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n`],
  ['no version', `POST ${path}\r\nhost: a\r\ncontent-length: 0\r\n\r\n`],
  ['HTTP/1.0', `POST ${path} HTTP/1.0\r\ncontent-length: 0\r\n\r\n`],
  ['HTTP/0.9', `GET ${path}\r\n\r\n`],
  ['HTTP/1.2', `POST ${path} HTTP/1.2\r\nhost: a\r\ncontent-length: 0\r\n\r\n`],
  ['HTTP/11', `POST ${path} HTTP/11\r\nhost: a\r\ncontent-length: 0\r\n\r\n`],
  ['http/1.1', `POST ${path} http/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n`],
  ['a method in small letters', `post ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n`],
  ['a method of its own', `SMUGGLE ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n`],
  ['TRACE', `TRACE / HTTP/1.1\r\nhost: a\r\n\r\n`],
  ['PRI in HTTP/1', 'PRI * HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a tab before the version', `POST ${path}\tHTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n`],
];

export const framingCases: readonly (readonly [name: string, bytes: string])[] = [
  ...encodings.map(
    (encoding) =>
      [
        `both lengths, ${JSON.stringify(encoding)}`,
        `${post(`Content-Length: ${zeroChunk.length + hidden.length}`, encoding)}${zeroChunk}${hidden.slice(0, -2)}X`,
      ] as const,
  ),
  ...lengths.map(
    (length) =>
      [`a length of ${JSON.stringify(length)}`, `${post(`Content-Length: ${length}`)}12345`] as const,
  ),
  ['two lengths', `${post('Content-Length: 0', `Content-Length: ${hidden.length}`)}${hidden}`],
  ...chunks.map(
    (chunk) => [`a chunk ${JSON.stringify(chunk)}`, `${post('Transfer-Encoding: chunked')}${chunk}`] as const,
  ),
  ...heads,
];
