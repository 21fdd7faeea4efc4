/** Serves pages and documents to browsers, without a key and from memory. */
import type { Exchange } from './exchange.ts';
import type { Route } from './routes.ts';

const contentTypes: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  json: 'application/json',
  proto: 'text/plain; charset=utf-8',
  gz: 'application/gzip',
};

/** Only this server's own files and API; no inline script or style. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Images that the reader attaches to a chat.
  "img-src 'self' data:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
};

/** A name with a hash of the content: the file never changes. */
const hashed = /-[0-9A-Z]{8}\.\w+$/;

/** Paths under which a page is served. Its script decides what to show. */
const pages: Readonly<Record<string, readonly string[]>> = {
  'docs/index.html': ['/docs', '/docs/', '/docs/rpcs'],
  'console/index.html': [
    ...['/console', '/console/', '/console/usage', '/console/keys', '/console/credits', '/console/alerts'],
    ...['/console/playground', '/console/playground/speech', '/console/playground/transcription'],
    ...['/console/playground/live', '/console/playground/conversation'],
    ...['/console/accounts', '/console/accounts/:account_id', '/console/server', '/console/audit'],
  ],
};

interface Page {
  readonly content: Buffer;
  readonly compressed: Buffer | undefined;
  readonly headers: Record<string, string>;
  readonly contentType: string;
}

/** @param files by their paths; a compressed copy has the suffix `.gz` */
export function pageRoutes(files: ReadonlyMap<string, Buffer>): Route[] {
  return [...files]
    .filter(([name]) => !isCopy(name, files))
    .flatMap(([name, content]) => {
      const page = pageOf(name, content, files.get(`${name}.gz`));
      return (pages[name] ?? [`/${name}`]).map((path) => ({
        rule: { verb: 'GET' as const, path },
        rpc: undefined,
        handle: async (exchange: Exchange) => send(exchange, page),
      }));
    });
}

function isCopy(name: string, files: ReadonlyMap<string, Buffer>): boolean {
  return name.endsWith('.gz') && files.has(name.slice(0, -'.gz'.length));
}

function pageOf(name: string, content: Buffer, compressed: Buffer | undefined): Page {
  const extension = name.slice(name.lastIndexOf('.') + 1);
  const contentType = contentTypes[extension];
  if (contentType === undefined) throw new Error(`${name} has no known type`);
  const headers = {
    'cache-control': hashed.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
    ...(compressed && { vary: 'accept-encoding' }),
    ...(extension === 'html' && pageHeaders),
  };
  return { content, compressed, headers, contentType };
}

/** @throws `rate_limit_exceeded` if too many calls without a key run on the connection */
function send(exchange: Exchange, { content, compressed, headers, contentType }: Page): void {
  exchange.served.openKeyless();
  const accepted = String(exchange.request.headers['accept-encoding'] ?? '');
  if (compressed && /\bgzip\b(?!;q=0(\.0*)?(,|$))/.test(accepted)) {
    exchange.sendText(200, contentType, compressed, { ...headers, 'content-encoding': 'gzip' });
  } else {
    exchange.sendText(200, contentType, content, headers);
  }
}
