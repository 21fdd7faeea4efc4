/** Serves pages and documents to browsers, without a key and from memory. */
import type { Exchange } from './exchange.ts';
import type { Route } from './routes.ts';
import { keylessRoute } from './session-routes.ts';

const contentTypes: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  json: 'application/json',
  proto: 'text/plain; charset=utf-8',
  yaml: 'text/plain; charset=utf-8',
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

/** The pages for paths that do not exist. People see them; programs get an error as JSON. */
const missingPages: Readonly<Record<string, string>> = {
  'docs/missing.html': '/docs/*',
  'console/index.html': '/console/*',
};

/** Paths under which a page is served. Its script decides what to show. */
const pages: Readonly<Record<string, readonly string[]>> = {
  'docs/missing.html': [],
  'console/index.html': [
    ...['/console', '/console/', '/console/usage', '/console/keys', '/console/credits', '/console/alerts'],
    ...['/console/credits/statement', '/console/accounts/:account_id/statement'],
    ...[
      '/console/models',
      '/console/playground',
      '/console/playground/speech',
      '/console/playground/transcription',
    ],
    ...['/console/playground/live', '/console/playground/conversation'],
    ...['/console/accounts', '/console/accounts/:account_id', '/console/server', '/console/audit'],
    '/console/invitation',
  ],
};

/** A file, or a function that returns it. */
export type PageFile = Buffer | (() => Buffer);

/** Files by their paths; a compressed copy has the suffix `.gz`. */
export type PageFiles = ReadonlyMap<string, PageFile>;

interface Page {
  readonly content: PageFile;
  readonly compressed: PageFile | undefined;
  readonly headers: Record<string, string>;
  readonly contentType: string;
}

export function pageRoutes(files: PageFiles): Route[] {
  const pages = [...files]
    .filter(([name]) => !isCopy(name, files))
    .flatMap(([name, content]) => {
      const page = pageOf(name, content, files.get(`${name}.gz`));
      const missing = missingPages[name];
      return [
        ...pathsOf(name).map((path) => keylessRoute('GET', path, (exchange) => send(exchange, 200, page))),
        ...(missing === undefined ? [] : [missingRoute(missing, page)]),
      ];
    });
  return files.has('console/index.html') ? [...pages, toConsole] : pages;
}

const isForPeople = ({ headers }: Exchange['request']) => /\btext\/html\b/.test(String(headers.accept));

/** Leads browsers from the bare address to the console. */
const toConsole: Route = {
  ...keylessRoute('GET', '/', (exchange) =>
    exchange.sendText(302, 'text/plain', '', { location: '/console', vary: 'accept' }),
  ),
  isFor: isForPeople,
};

/** A page has the path of its file without the extension; that of a folder also ends in a slash. */
function pathsOf(name: string): readonly string[] {
  const [, path] = /^(.*)\.html$/.exec(name) ?? [];
  if (path === undefined) return [`/${name}`];
  const [, folder] = /^(.*)\/index$/.exec(path) ?? [];
  return pages[name] ?? (folder === undefined ? [`/${path}`] : [`/${folder}`, `/${folder}/`]);
}

function missingRoute(path: string, page: Page): Route {
  return { ...keylessRoute('GET', path, (exchange) => send(exchange, 404, page)), isFor: isForPeople };
}

function isCopy(name: string, files: PageFiles): boolean {
  return name.endsWith('.gz') && files.has(name.slice(0, -'.gz'.length));
}

function pageOf(name: string, content: PageFile, compressed: PageFile | undefined): Page {
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

function send(exchange: Exchange, status: number, page: Page): void {
  const { content, compressed, headers, contentType } = page;
  const accepted = String(exchange.request.headers['accept-encoding'] ?? '');
  if (compressed && /\bgzip\b(?!;q=0(\.0*)?(,|$))/.test(accepted)) {
    exchange.sendText(status, contentType, bytesOf(compressed), { ...headers, 'content-encoding': 'gzip' });
  } else {
    exchange.sendText(status, contentType, bytesOf(content), headers);
  }
}

const bytesOf = (file: PageFile) => (typeof file === 'function' ? file() : file);
