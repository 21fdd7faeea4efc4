/** Serves the note taker's page, and forwards its calls to Parley with a key that the browser never sees. */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';

/** The paths that the page may call, with the largest body of each in bytes. */
const bodyBytesMax = new Map([
  ['/audio/transcriptions', 26_214_400],
  ['/audio/speech', 65_536],
  ['/chat/completions', 262_144],
]);
const timeoutMs = 600_000;

const {
  OPENAI_BASE_URL: baseUrl = 'http://127.0.0.1:8080/api/v1',
  OPENAI_API_KEY: key = '',
  HEARS: hears = 'pocketsphinx',
  THINKS: thinks = 'eliza',
  SPEAKS: speaks = 'flite',
  VOICE: voice = 'slt',
  PORT: port = '4300',
  ORIGIN: publicOrigin,
} = process.env;
const securityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; media-src blob:; img-src data:";

const files = new Map([
  ['/', { type: 'text/html', content: read('index.html') }],
  ['/page.ts', { type: 'text/javascript', content: stripTypeScriptTypes(read('page.ts')) }],
  ['/calls.ts', { type: 'text/javascript', content: stripTypeScriptTypes(read('calls.ts')) }],
  ['/models', { type: 'application/json', content: JSON.stringify({ hears, thinks, speaks, voice }) }],
]);

function read(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url = '', headers } = request;
  const file = files.get(url);
  if (method === 'GET' && file) {
    const type = `${file.type}; charset=utf-8`;
    response.writeHead(200, { 'content-type': type, 'content-security-policy': securityPolicy });
    response.end(file.content);
    return;
  }
  const bytesMax = bodyBytesMax.get(url);
  if (method !== 'POST' || bytesMax === undefined) return refuse(response, 404, 'There is nothing here.');
  // Other sites that the person visits must not spend the credits.
  if (headers.origin !== origin) return refuse(response, 403, `Open the notes at ${origin}.`);
  const body = await readBody(request, bytesMax);
  if (body === undefined) return refuse(response, 413, `Send at most ${bytesMax} bytes.`);
  await forward(url, body, headers['content-type'] ?? '', response);
}

async function forward(path: string, body: Buffer, type: string, response: ServerResponse): Promise<void> {
  const left = new AbortController();
  response.once('close', () => left.abort());
  const answer = await fetch(baseUrl + path, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${key}`, 'content-type': type },
    signal: AbortSignal.any([left.signal, AbortSignal.timeout(timeoutMs)]),
  });
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
  if (answer.body) await pipeline(answer.body, response);
}

/** Undefined if the body is too large. The rest is read and dropped, as browsers read no answer before they have sent all. */
async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request) {
    bytes += piece.length;
    if (bytes <= bytesMax) pieces.push(piece);
  }
  return bytes <= bytesMax ? Buffer.concat(pieces) : undefined;
}

/** Answers in the form of Parley's errors. */
function refuse(response: ServerResponse, status: number, message: string): void {
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ error: { message } }));
}

const server = createServer((request, response) => {
  handle(request, response).catch((error: Error) => {
    if (response.headersSent) return response.destroy();
    process.stderr.write(`${error.message}\n`);
    return refuse(response, 502, 'Parley cannot be reached now. Try again later.');
  });
});
let origin = publicOrigin ?? '';
if (key === '') {
  process.stderr.write('OPENAI_API_KEY must be an API key of Parley.\n');
  process.exitCode = 1;
} else {
  server.listen(Number(port), '127.0.0.1', () => {
    origin ||= `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    process.stdout.write(`The notes are at ${origin}\n`);
  });
}
