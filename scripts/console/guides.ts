/** Reads the guides, and the files of the repository to which they link. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { extname, join, posix } from 'node:path';
import { root } from '../setup/run.mjs';
import { guideGroups, introduction } from './guide-list.ts';
import { renderMarkdown, type Section } from './markdown.ts';

export interface Guide {
  /** Such as `clients/go`. */
  readonly name: string;
  readonly path: string;
  readonly title: string;
  readonly html: string;
  readonly sections: readonly Section[];
}

interface Guides {
  readonly guides: readonly Guide[];
  /** Linked examples and drawings, by their paths on the server. */
  readonly files: Readonly<Record<string, Buffer>>;
}

/** Files that the server hands out when a guide links to them. */
const shownFiles: ReadonlySet<string> = new Set(['.yaml', '.json', '.svg']);
/** Paths of the repository that the server has in another form. */
const elsewhere: Readonly<Record<string, string>> = { proto: '/docs/parley-proto.tar.gz' };

export function guidePath(name: string): string {
  return name === introduction ? '/docs' : `/docs/guides/${name}`;
}

export function readGuides(): Guides {
  const files: Record<string, Buffer> = {};
  const names = [introduction, ...Object.values(guideGroups).flat()];
  const guides = names.map((name): Guide => {
    const source = `docs/${name}.md`;
    const target = (href: string) => linkTarget(href, source, names, files);
    const { html, sections } = renderMarkdown(readFileSync(join(root, source), 'utf8'), target);
    const [{ title } = { title: name }] = sections;
    return { name, path: guidePath(name), title, html, sections };
  });
  return { guides, files };
}

/** @param files gets the linked file, if the server hands it out */
function linkTarget(
  href: string,
  source: string,
  names: readonly string[],
  files: Record<string, Buffer>,
): string | undefined {
  if (/^(https?:|mailto:|#|\/)/.test(href)) return href;
  const [, path = '', anchor = ''] = /^([^#]*)(#.*)?$/.exec(href) ?? [];
  const file = posix.join(posix.dirname(source), path);
  const name = /^docs\/(.+)\.md$/.exec(file)?.[1];
  if (name !== undefined && names.includes(name)) return guidePath(name) + anchor;
  if (elsewhere[file] !== undefined) return elsewhere[file];
  const place = join(root, file);
  if (!shownFiles.has(extname(file)) || !existsSync(place) || !statSync(place).isFile()) return undefined;
  files[`docs/files/${file}`] = readFileSync(place);
  return `/docs/files/${file}`;
}
