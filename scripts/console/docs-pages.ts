/** The pages under `/docs`: the introduction, the guides, a page for each operation, the RPCs, and one for wrong paths. */
import { createHash } from 'node:crypto';
import type { Api, Operation } from '../../console/docs/document.ts';
import type { RpcDocument } from '../../console/docs/rpc-document.ts';
import { guideGroups, introduction } from './guide-list.ts';
import { type Guide, guidePath, readGuides } from './guides.ts';
import { escaped, linkList } from './html.ts';
import { readApiDocument, readRpcDocument } from './reference-documents.ts';
import { searchIndex } from './search-index.ts';

interface Page {
  readonly title: string;
  readonly contents: string;
  readonly main: string;
}

type Section = 'api' | 'rpcs' | 'guides';

const sections: Readonly<Record<Section, { readonly href: string; readonly text: string }>> = {
  api: { href: '/docs', text: 'REST' },
  rpcs: { href: '/docs/rpcs', text: 'gRPC and Connect' },
  guides: { href: '/docs/guides', text: 'Guides' },
};

/** @param template the page with its scripts and styles; `%main%` and the like are to fill */
export function docsPages(template: string): Record<string, Buffer> {
  const { guides, files } = readGuides();
  const [api, rpcs] = [readApiDocument(), readRpcDocument()];
  const index = Buffer.from(JSON.stringify(searchIndex(guides, api, rpcs)));
  const indexPath = `docs/assets/search-${hashOf(index)}.json`;
  const filled = (section: Section | undefined, { title, contents, main }: Page) => {
    const values: Readonly<Record<string, string>> = {
      title: escaped(title),
      sections: sectionLinks(section),
      contents,
      main,
      index: `/${indexPath}`,
    };
    return Buffer.from(template.replace(/%(\w+)%/g, (found, name: string) => values[name] ?? found));
  };
  const pages = {
    'docs/index.html': filled('api', introductionPage(guides, api)),
    'docs/rpcs.html': filled('rpcs', rpcsPage(rpcs)),
    'docs/missing.html': filled(undefined, missingPage),
    'docs/guides/index.html': filled('guides', guidesPage(guides)),
    ...Object.fromEntries(
      guides
        .filter(({ name }) => name !== introduction)
        .map((guide) => [`docs/guides/${guide.name}.html`, filled('guides', guidePage(guide, guides))]),
    ),
    ...Object.fromEntries(
      api.operations.map((one) => [
        `docs/api/${one.operationId}.html`,
        filled('api', operationPage(one, api)),
      ]),
    ),
  };
  return { ...files, ...pages, [indexPath]: index };
}

/** As in the names of esbuild's files. */
function hashOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 8).toUpperCase();
}

function sectionLinks(current: Section | undefined): string {
  return Object.entries(sections)
    .map(([name, { href, text }]) => {
      const mark = name === current ? ' aria-current="true"' : '';
      return `<a href="${href}"${mark}>${text}</a>`;
    })
    .join('');
}

function introductionPage(guides: readonly Guide[], api: Api): Page {
  const [head = '', ...rest] = guideNamed(guides, introduction).html.split(/(?<=<\/p>\n)/);
  const start =
    '<div id="start"><noscript>The first calls in several languages are on the page <a href="/docs/guides/clients">Clients</a>.</noscript></div>';
  return {
    title: 'Parley reference',
    contents: operationLinks(api, '/docs'),
    main: `${head}${start}${rest.join('')}`,
  };
}

function operationPage(operation: Operation, api: Api): Page {
  const { operationId: id, 'x-title': title, verb, path, summary } = operation;
  return {
    title: `${title}: Parley reference`,
    contents: operationLinks(api, `/docs/api/${id}`),
    main: [
      `<h1>${escaped(title)}</h1>`,
      `<p class="path"><span class="verb ${verb.toLowerCase()}">${verb}</span> <code>${escaped(path)}</code></p>`,
      `<p>${inline(summary)}.</p>`,
      `<div id="drawn" data-operation="${id}"><noscript>This page needs JavaScript. The same in one file: `,
      '<a href="/api/v1/openapi.json">openapi.json</a>.</noscript></div>',
    ].join('\n'),
  };
}

function operationLinks({ groups }: Api, current: string): string {
  const lists = groups.map(({ title, operations }) => {
    const links = operations.map((one) => ({
      href: `/docs/api/${one.operationId}`,
      html: `<span class="verb ${one.verb.toLowerCase()}">${one.verb}</span><span>${escaped(one['x-title'])}</span>`,
    }));
    return `<h2>${escaped(title)}</h2>${linkList(links, current)}`;
  });
  return linkList([{ href: '/docs', html: 'Introduction' }], current) + lists.join('');
}

function rpcsPage({ packages }: RpcDocument): Page {
  const lists = packages.map(({ name, service, messages }) => {
    const methods = service.methods.map((method) => ({
      href: `#${method.path}`,
      html: `<span class="verb rpc">RPC</span><span>${method.name}</span>`,
    }));
    const others = messages.map((message) => ({
      href: `#${message.name}`,
      html: `<span>${message.name.split('.').at(-1)}</span>`,
    }));
    return `<h2>${name}</h2>${linkList([...methods, ...others], '')}`;
  });
  return {
    title: 'gRPC and Connect: Parley reference',
    contents: lists.join(''),
    main: '<h1>gRPC, gRPC-Web and Connect</h1><div id="drawn"><noscript>This page needs JavaScript. The schemas: <a href="/docs/parley-proto.tar.gz">parley-proto.tar.gz</a>.</noscript></div>',
  };
}

function guidePage(guide: Guide, guides: readonly Guide[]): Page {
  return { title: `${guide.title}: Parley guides`, contents: guideLinks(guides, guide), main: guide.html };
}

function guidesPage(guides: readonly Guide[]): Page {
  const lists = Object.entries(guideGroups).map(([group, names]) => {
    const links = names.map((name) => ({
      href: guidePath(name),
      html: escaped(guideNamed(guides, name).title),
    }));
    return `<h2>${group}</h2>${linkList(links, '')}`;
  });
  return {
    title: 'Parley guides',
    contents: guideLinks(guides, undefined),
    main: `<h1>Guides</h1><div class="overview">${lists.map((list) => `<section>${list}</section>`).join('')}</div>`,
  };
}

/** The guides by group, with the headings of the current one. */
function guideLinks(guides: readonly Guide[], current: Guide | undefined): string {
  const headings = (current?.sections ?? [])
    .filter(({ level }) => level === 2)
    .map(({ anchor, title }) => ({ href: `#${anchor}`, html: escaped(title) }));
  const lists = Object.entries(guideGroups).map(([group, names]) => {
    const items = names.map((name) => {
      const { path, title } = guideNamed(guides, name);
      const isCurrent = name === current?.name;
      const mark = isCurrent ? ' aria-current="page"' : '';
      const inner = isCurrent && headings.length > 0 ? linkList(headings, '') : '';
      return `<li><a href="${path}"${mark}>${escaped(title)}</a>${inner}</li>`;
    });
    return `<h2>${group}</h2><ul>${items.join('')}</ul>`;
  });
  return lists.join('');
}

const missingPage: Page = {
  title: 'Page not found: Parley',
  contents: linkList(
    Object.values(sections).map(({ href, text }) => ({ href, html: text })),
    '',
  ),
  main: [
    '<h1>Page not found</h1>',
    '<p>The reference has no page at this address. Search for it above, or go back:</p>',
    '<ul><li><a href="/docs">The reference</a></li><li><a href="/docs/guides">The guides</a></li></ul>',
  ].join('\n'),
};

function guideNamed(guides: readonly Guide[], name: string): Guide {
  const guide = guides.find((one) => one.name === name);
  if (guide === undefined) throw new Error(`there is no guide ${name}`);
  return guide;
}

/** Code in backticks. */
function inline(text: string): string {
  return escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}
