/** The HTTP server: `POST /checkout`, `POST /stripe` and `POST /webhook`. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { accountOf, type Entry, enter } from './parley.ts';
import type { Settings } from './settings.ts';
import { entryOf, verifiedEvent } from './signed-webhook.ts';
import { StripeShop } from './stripe.ts';

const bodyBytesMax = 524_288;
const creditsMax = 100_000;

interface Answer {
  readonly status: number;
  readonly body: object;
}

/** A problem that the sender can fix. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function createTopUp(settings: Settings): Server {
  const shop = settings.stripe && new StripeShop(settings.stripe);
  return createServer({ requestTimeout: 30_000 }, async (request, response) => {
    const { status, body } = await answer(settings, shop, request).catch(failed);
    const headers = {
      'content-type': 'application/json',
      ...(request.complete ? {} : { connection: 'close' }),
    };
    response.writeHead(status, headers).end(JSON.stringify(body));
  });
}

async function answer(
  settings: Settings,
  shop: StripeShop | undefined,
  request: IncomingMessage,
): Promise<Answer> {
  const route = `${request.method} ${request.url}`;
  if (route === 'GET /healthz') return { status: 200, body: { status: 'ok' } };
  const body = await bodyOf(request);
  if (route === 'POST /checkout' && shop) return checkout(settings, shop, request, body);
  if (route === 'POST /stripe' && shop) {
    const signature = String(request.headers['stripe-signature'] ?? '');
    const event = signed(() => shop.verified(body, signature));
    return entered(settings, await shop.entryOf(event));
  }
  const { webhookSecret } = settings;
  if (route === 'POST /webhook' && webhookSecret !== undefined) {
    const event = signed(() => verifiedEvent(webhookSecret, body, request.headers));
    return entered(settings, entryOf(event));
  }
  throw new Refusal(404, 'There is nothing here.');
}

/** The buyer proves by a key of the account whose credits it buys. */
async function checkout(
  settings: Settings,
  shop: StripeShop,
  request: IncomingMessage,
  body: Buffer,
): Promise<Answer> {
  const account = await accountOf(settings, request.headers.authorization ?? '');
  if (account === undefined) throw new Refusal(401, 'Send an API key of the account.');
  const credits = creditsIn(body);
  if (!Number.isInteger(credits) || credits < 1 || credits > creditsMax) {
    throw new Refusal(400, `\`credits\` must be a whole number from 1 to ${creditsMax}.`);
  }
  return { status: 200, body: { url: await shop.checkout(account, credits) } };
}

function creditsIn(body: Buffer): number {
  try {
    return (JSON.parse(body.toString()) as { credits: number }).credits;
  } catch {
    return Number.NaN;
  }
}

function signed<Event>(verify: () => Event): Event {
  try {
    return verify();
  } catch {
    throw new Refusal(400, 'The signature is wrong or too old.');
  }
}

async function entered(settings: Settings, entry: Entry | undefined): Promise<Answer> {
  if (entry !== undefined) await enter(settings, entry);
  return { status: 200, body: { entered: entry !== undefined } };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  // The socket must stay for the refusal.
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    bytes += piece.length;
    if (bytes > bodyBytesMax) throw new Refusal(413, 'The body is too large.');
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** The sender of an event tries again after a status from 500. */
function failed(error: unknown): Answer {
  if (error instanceof Refusal) return { status: error.status, body: { error: error.message } };
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  return { status: 503, body: { error: 'This could not be done now. Try again later.' } };
}
