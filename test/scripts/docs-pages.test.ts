/** The pages under `/docs`: every guide is there, every link leads somewhere, and the search finds what people look for. */
import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { found, type SearchEntry } from '../../console/docs/search-index.ts';
import { consoleFiles } from '../../scripts/console/files.mjs';
import { guideGroups, introduction } from '../../scripts/console/guide-list.ts';
import { renderMarkdown } from '../../scripts/console/markdown.ts';
import { errorTable } from '../../src/core/values/errors.ts';
import { readDocument } from '../support/api-document.ts';

const files = new Map(Object.entries(await consoleFiles()));
const pages = new Map(
  [...files]
    .filter(([name]) => /^docs\/.*\.html$/.test(name))
    .map(([name, content]) => [`/${name.replace(/(\/index)?\.html$/, '')}`, String(content)]),
);
const rpcs = JSON.parse(String(files.get('docs/rpcs.json'))) as {
  readonly packages: readonly {
    readonly service: { readonly methods: readonly { readonly path: string }[] };
    readonly messages: readonly { readonly name: string }[];
  }[];
};
/** The script draws these parts of the page of RPCs. */
const drawnAnchors = new Set(
  rpcs.packages.flatMap(({ service, messages }) => [
    ...service.methods.map(({ path }) => path),
    ...messages.map(({ name }) => name),
  ]),
);

describe('the guides', () => {
  it('are all pages of docs/ but those for people who change Parley', () => {
    const docs = new URL('../../docs', import.meta.url);
    const written = readdirSync(docs, { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('.md') && !name.startsWith('internal/'))
      .map((name) => name.replace(/\.md$/, ''));
    expect([introduction, ...Object.values(guideGroups).flat()].sort()).toEqual(written.sort());
    for (const name of Object.values(guideGroups).flat())
      expect([...pages.keys()]).toContain(`/docs/guides/${name}`);
  });

  it('show text of their Markdown, with anchors as GitHub makes them', () => {
    const realtime = pages.get('/docs/guides/realtime') ?? '';
    expect(realtime).toContain('<h2 id="openais-realtime-clients">');
    expect(realtime).toMatch(/<title>.+: Parley guides<\/title>/);
  });

  it('have colors in code, whose text stays as it is', () => {
    const { html } = renderMarkdown(
      '```sh run\ncurl -d \'{"a": "<b>"}\' "$URL" # why\n```\n',
      () => undefined,
    );
    expect(html).toContain('<span class="is-string">&#39;{&#34;a&#34;: &#34;&#60;b&#62;&#34;}&#39;</span>');
    expect(html).toContain('<span class="is-comment"># why</span>');
    const sources = [...pages.values()].flatMap((page) => page.match(/class="is-\w+"/g) ?? []);
    expect(new Set(sources).size).toBe(5);
  });

  it('let no HTML of a guide through', () => {
    const { html } = renderMarkdown(
      '# Title\n\n<script>alert(1)</script>\n\nAn <b>x</b>.\n',
      () => undefined,
    );
    expect(html).not.toMatch(/<(script|b)>/);
  });
});

describe('a page under /docs', () => {
  it.each([...pages])('%s has only links that lead somewhere', (path, html) => {
    const links = [...html.matchAll(/(?:href|src|data-index)="([^"]+)"/g)].map(([, link = '']) =>
      link.replaceAll('&#39;', "'"),
    );
    expect(links.filter((link) => !leadsSomewhere(link, path))).toEqual([]);
  });

  it('has no style, script or handler of its own', () => {
    for (const html of pages.values())
      expect(html).not.toMatch(/<style|<script(?! type="module" src=)|\son\w+=|style="/);
  });

  it('loads at most 120 KB first, the reference, the RPCs and the longest guide', () => {
    const size = (path: string) => files.get(`${path}.gz`)?.length ?? files.get(path)?.length ?? 0;
    const shared = [...files.keys()].filter(
      (name) => /^docs\/assets\/(main|docs|icon)-.*\w$/.test(name) && !name.endsWith('.gz'),
    );
    const first = (...paths: readonly string[]) =>
      [...shared, ...paths].reduce((sum, path) => sum + size(path), 0);
    const longest = Math.max(
      ...[...files.keys()].filter((name) => /^docs\/guides\/.*html$/.test(name)).map(size),
    );
    expect(shared).toHaveLength(3);
    expect(first('docs/index.html')).toBeLessThan(40 * 1024);
    expect(first() + longest).toBeLessThan(50 * 1024);
    expect(first('docs/api/createChatCompletion.html', 'api/v1/openapi.json')).toBeLessThan(80 * 1024);
    expect(first('docs/rpcs.html', 'docs/rpcs.json')).toBeLessThan(80 * 1024);
  });
});

function leadsSomewhere(link: string, from: string): boolean {
  if (/^https?:/.test(link)) return true;
  const { pathname, hash } = new URL(link, `http://parley${from}`);
  if (pathname === '/console') return true;
  const html = pages.get(pathname);
  if (html === undefined) return files.has(pathname.slice(1));
  const anchor = decodeURIComponent(hash.slice(1));
  return (
    anchor === '' ||
    html.includes(`id="${anchor}"`) ||
    (pathname === '/docs/rpcs' && drawnAnchors.has(anchor))
  );
}

describe('the search', () => {
  const [indexName = ''] = [...files.keys()].filter((name) => /^docs\/assets\/search-.*json$/.test(name));
  const entries = JSON.parse(String(files.get(indexName))) as SearchEntry[];
  const first = (query: string, count = 5) =>
    found(entries, query)
      .slice(0, count)
      .map(([title, place]) => `${title} (${place})`);

  it('finds fields, statuses, parts of names, paths and headings', () => {
    expect(first('voice')).toContain('Voices (GET /api/v1/audio/voices)');
    expect(found(entries, 'voice').map(([title]) => title)).toContain('Speech');
    expect(first('429')[0]).toBe('rate_limit_exceeded (Error 429)');
    expect(first('UploadTranscription')[0]).toBe('UploadTranscription (RPC of parley.audio.v1)');
    expect(first('dry_run')[0]).toBe('Removal of old usage records (POST /api/v1/admin/usage/prune)');
    expect(first('reverse proxy')[0]).toBe('Behind a reverse proxy (Operation)');
    expect(first('/admin/keys')).toContain('Admin keys (GET /api/v1/admin/keys)');
    expect(first('Claude Code')[0]).toBe('Claude Code (Guide)');
  });

  it('takes questions', () => {
    expect(first('why did my request fail')[0]).toBe('Why a request failed (Errors)');
    expect(first('Why do requests fail?')[0]).toBe('Why a request failed (Errors)');
    expect(first('how can I back up the database')[0]).toBe('Back up (Operation)');
    expect(first('where do I sell credits?')[0]).toBe('Sell credits (Guide)');
    expect(first('how')).not.toEqual([]);
    expect(first('why did my xylophone request fail')[0]).toBe('Why a request failed (Errors)');
  });

  it('finds guides and operations before messages of the schemas', () => {
    for (const query of [
      'upload',
      'alert',
      'usage record',
      'balance',
      'price',
      'key',
      'speech',
      'response',
    ]) {
      const paths = found(entries, query).map(([, , path]) => path.startsWith('/docs/rpcs'));
      expect(paths[0], query).toBe(false);
    }
    expect(first('GetAccountResponse')[0]).toMatch(/^GetAccountResponse \(Message/);
  });

  it('finds every operation by its id and every error by its code', () => {
    const ids = Object.values(readDocument()['paths'] ?? {}).flatMap((item) =>
      Object.values(item as object).flatMap((one: { operationId?: string }) => one.operationId ?? []),
    );
    expect(ids.length).toBeGreaterThan(50);
    for (const id of ids) expect(found(entries, id)[0]?.[2]).toBe(`/docs/api/${id}`);
    for (const code of Object.keys(errorTable)) expect(found(entries, code)[0]?.[2]).toContain(`#${code}`);
  });

  it('finds nothing for a word that is nowhere, and only entries with all words', () => {
    expect(found(entries, 'xylophone')).toEqual([]);
    expect(found(entries, '')).toEqual([]);
    const both = found(entries, 'voice xylophone');
    expect(both).toEqual([]);
  });

  it('has only addresses that exist', () => {
    expect(entries.filter(([, , path]) => !leadsSomewhere(path, '/docs'))).toEqual([]);
  });

  it('takes at most 90 KB on the wire', () => {
    const packed = files.get(`${indexName}.gz`) ?? Buffer.alloc(0);
    expect(packed.length).toBeLessThan(90 * 1024);
    expect(gunzipSync(packed)).toEqual(files.get(indexName));
  });
});

describe('the picture of the architecture', () => {
  const svg = readFileSync(new URL('../../docs/architecture.svg', import.meta.url), 'utf8');

  it('has a text alternative, and colours for both themes', () => {
    expect(svg).toMatch(/role="img" aria-labelledby="title text"/);
    expect(svg).toMatch(/<title id="title">.+<\/title>/);
    expect(svg).toContain('prefers-color-scheme: dark');
    expect(pages.get('/docs/guides/architecture')).toMatch(
      /<img src="[^"]*architecture.svg" alt="[^"]{40,}"/,
    );
  });
});
