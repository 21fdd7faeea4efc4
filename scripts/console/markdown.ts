/** Guides as HTML: Markdown without raw HTML, with anchors at headings and links between the pages of the server. */
import { Marked, type Tokens } from 'marked';
import { highlighted } from '../../console/shared/code/highlight.ts';
import { escaped } from './html.ts';

export interface Section {
  readonly anchor: string;
  readonly title: string;
  readonly level: number;
  /** The text under the heading, without that under inner ones. */
  text: string;
}

interface RenderedPage {
  readonly html: string;
  readonly sections: readonly Section[];
}

/** Where a link leads on the server; undefined for a file that the server does not have. */
export type LinkTarget = (href: string) => string | undefined;

export function renderMarkdown(source: string, target: LinkTarget): RenderedPage {
  const sections: Section[] = [];
  const anchors = new Set<string>();
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens);
        const title = plainText(tokens);
        const anchor = freeAnchor(title, anchors);
        sections.push({ anchor, title, level: depth, text: '' });
        if (depth === 1) return `<h1>${html}</h1>\n`;
        return `<h${depth} id="${anchor}"><a href="#${anchor}">${html}</a></h${depth}>\n`;
      },
      link({ href, tokens }) {
        const html = this.parser.parseInline(tokens);
        const there = target(href);
        return there === undefined ? html : `<a href="${escaped(there)}">${html}</a>`;
      },
      image({ href, text }) {
        const there = target(href);
        return there === undefined ? '' : `<img src="${escaped(there)}" alt="${escaped(text)}">`;
      },
      code: ({ text, lang = '' }) =>
        `<div class="code"><pre><code>${colored(text, lang)}</code></pre></div>\n`,
      tablecell({ tokens, header }) {
        const html = this.parser.parseInline(tokens);
        return header && html !== '' ? `<th scope="col">${html}</th>` : `<td>${html}</td>`;
      },
      tablerow: ({ text }) => `<tr>${withCodeAnchors(text, anchors)}</tr>\n`,
      // GitHub shows the pictures of the console by HTML. They are large, and the console itself is a click away.
      html: ({ text }) => (/^\s*<(\/?picture|source|img)/.test(text) ? '' : escaped(text)),
    },
  });
  const tokens = marked.lexer(source);
  const html = marked.parser(tokens).replace(/<thead>\s*<tr>(\s*<td><\/td>\s*)+<\/tr>\s*<\/thead>/g, '');
  return { html: scrolling(html), sections: filled(sections, tokens) };
}

/** @param fence what follows the fence: a language, and often a name */
function colored(text: string, fence: string): string {
  return highlighted(text, fence.split(' ')[0] ?? '')
    .map(({ kind, text: part }) =>
      kind === undefined ? escaped(part) : `<span class="is-${kind}">${escaped(part)}</span>`,
    )
    .join('');
}

/** Wide tables scroll by themselves, also by the keyboard. */
function scrolling(html: string): string {
  return html
    .replaceAll('<table>', '<div class="table" role="group" aria-label="Table" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>');
}

/** The anchor that GitHub gives a heading, so that links work in both places. */
function freeAnchor(title: string, taken: Set<string>): string {
  const wanted = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
  let anchor = wanted;
  for (let count = 1; taken.has(anchor); count++) anchor = `${wanted}-${count}`;
  taken.add(anchor);
  return anchor;
}

/** In a row that begins with a status, each code is an anchor. */
function withCodeAnchors(row: string, taken: Set<string>): string {
  return row.replace(/^\s*<td>\d{3}<\/td>\s*<td>.*?<\/td>/, (cells) =>
    cells.replace(/<code>([a-z_]+)<\/code>/g, (whole, code: string) => {
      if (taken.has(code)) return whole;
      taken.add(code);
      return `<code id="${code}">${code}</code>`;
    }),
  );
}

/** Adds the text of each section. Headings are at the top level only. */
function filled(sections: readonly Section[], tokens: readonly Tokens.Generic[]): readonly Section[] {
  let at = -1;
  for (const token of tokens) {
    if (token.type === 'heading') at += 1;
    const section = sections[at];
    if (section !== undefined && token.type !== 'heading') section.text += ` ${plainText([token])}`;
  }
  return sections;
}

function plainText(tokens: readonly Tokens.Generic[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'html') return '';
      if (token.type === 'table') {
        const { header, rows } = token as Tokens.Table;
        return [header, ...rows].flatMap((row) => row.map((cell) => plainText(cell.tokens))).join(' ');
      }
      if (token.type === 'list')
        return (token as Tokens.List).items.map((item) => plainText(item.tokens)).join(' ');
      return token.tokens === undefined ? String(token['text'] ?? '') : plainText(token.tokens);
    })
    .join('');
}
