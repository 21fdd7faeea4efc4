/** Serves a page on which people sign up and buy credits. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Accounts, accountName } from './accounts.ts';
import { HourlyLimit } from './hourly-limit.ts';
import { keyPage, problemPage, startPage } from './pages.ts';
import { Refusal } from './refusal.ts';

const bodyBytesMax = 4_096;
const timeoutMs = 30_000;
const signUps = new HourlyLimit(5);
const purchases = new HourlyLimit(30);

const {
  PARLEY_URL: parleyUrl = 'http://127.0.0.1:8080',
  PARLEY_ADMIN_URL: adminUrl = parleyUrl,
  PARLEY_KEY: key = '',
  TOP_UP_URL: topUpUrl = 'http://127.0.0.1:4242',
  PORT: port = '4243',
  BEHIND_PROXY: isBehindProxy,
} = process.env;
const accounts = new Accounts(adminUrl, key);

interface Answer {
  readonly status: number;
  readonly page?: string;
  /** The page that the browser opens next. */
  readonly location?: string;
}

async function answerTo(request: IncomingMessage): Promise<Answer> {
  const route = `${request.method} ${request.url}`;
  if (route === 'GET /') return { status: 200, page: startPage() };
  if (route !== 'POST /sign-up' && route !== 'POST /buy') throw new Refusal(404, 'There is no such page.');
  const form = await formOf(request);
  const from = request.headers['sec-fetch-site'] ?? 'same-origin';
  if (from !== 'same-origin') throw new Refusal(403, 'Use the form of this site.');
  if (route === 'POST /buy') {
    purchases.count(addressOf(request));
    return { status: 303, location: await checkout(form) };
  }
  const name = accountName(form.get('email') ?? '');
  signUps.count(addressOf(request));
  return { status: 200, page: keyPage(name, await accounts.signUp(name)) };
}

/** Begins a payment in `examples/stripe-top-up`. @returns the URL of its page */
async function checkout(form: URLSearchParams): Promise<string> {
  const buyer = form.get('key')?.trim() ?? '';
  if (!/^[\x21-\x7e]+$/.test(buyer)) throw new Refusal(400, 'Enter the key that you got when you signed up.');
  const answer = await fetch(`${topUpUrl}/checkout`, {
    method: 'POST',
    headers: { authorization: `Bearer ${buyer}` },
    body: JSON.stringify({ credits: Number(form.get('credits')) }),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const { url, error } = (await answer.json()) as { url?: string; error?: string };
  if (url === undefined) throw new Refusal(answer.status, error ?? 'The purchase could not begin.');
  return url;
}

/** A proxy in front adds the address of its client at the end of the header. */
function addressOf({ headers, socket }: IncomingMessage): string {
  const forwarded =
    isBehindProxy &&
    String(headers['x-forwarded-for'] ?? '')
      .split(',')
      .at(-1)
      ?.trim();
  return forwarded || (socket.remoteAddress ?? '');
}

/** The rest of a body that is too large is read and dropped, as browsers read no answer before they have sent all. */
async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request) {
    bytes += piece.length;
    if (bytes <= bodyBytesMax) pieces.push(piece);
  }
  if (bytes > bodyBytesMax) throw new Refusal(413, 'The form is too large.');
  return new URLSearchParams(Buffer.concat(pieces).toString());
}

function failed(error: unknown): Answer {
  if (error instanceof Refusal) return { status: error.status, page: problemPage(error.message) };
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  return { status: 503, page: problemPage('This could not be done now. Try again later.') };
}

const server = createServer({ requestTimeout: timeoutMs }, async (request, response) => {
  const { status, page, location } = await answerTo(request).catch(failed);
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    ...(location && { location }),
  });
  response.end(page);
});
if (key === '') {
  process.stderr.write('PARLEY_KEY must be an admin key with the scopes accounts:write and keys.\n');
  process.exitCode = 1;
} else {
  server.listen(Number(port), '127.0.0.1', () => {
    const { port: own } = server.address() as AddressInfo;
    process.stdout.write(`The page is at http://127.0.0.1:${own}\n`);
  });
}
