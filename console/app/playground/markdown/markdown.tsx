/** Shows Markdown as elements of the page: no HTML of the text, no images, and links to http and https only. */
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { CopyButton } from '../../../shared/copy-button.tsx';
import { Code } from '../../scroll.tsx';
import { type Block, blocksOf } from './blocks.ts';
import { type Inline, inlineOf } from './inline.ts';

export function Markdown({ text }: { readonly text: string }) {
  // Equal elements are not compared again.
  return useMemo(() => <>{blocksOf(text.split(/\r\n?|\n/)).map(show)}</>, [text]);
}

function show(block: Block): ComponentChildren {
  switch (block.kind) {
    case 'paragraph':
      return <p>{inlineOf(block.text).map(showInline)}</p>;
    case 'heading':
      return <h3>{inlineOf(block.text).map(showInline)}</h3>;
    case 'code':
      return (
        <div class="code-block">
          <div class="title">
            <span class="quiet">{block.language || 'Code'}</span>
            <CopyButton key={block.text} text={block.text} />
          </div>
          <Code text={block.text} />
        </div>
      );
    case 'quote':
      return <blockquote>{block.blocks.map(show)}</blockquote>;
    case 'list': {
      const items = block.items.map((blocks) => <li>{showItem(blocks)}</li>);
      return block.start === undefined ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>;
    }
    case 'table':
      return <Table head={block.head} rows={block.rows} />;
    case 'rule':
      return <hr />;
  }
}

/** The first paragraph of an item needs no space around it. */
function showItem([first, ...rest]: readonly Block[]): ComponentChildren {
  if (first?.kind !== 'paragraph') return first === undefined ? null : [first, ...rest].map(show);
  return [...inlineOf(first.text).map(showInline), ...rest.map(show)];
}

function Table({ head, rows }: Omit<Extract<Block, { kind: 'table' }>, 'kind'>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
    <div class="wide-table" role="group" aria-label="Table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head.map((cell) => (
              <th scope="col">{inlineOf(cell).map(showInline)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>{inlineOf(cell).map(showInline)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function showInline(part: Inline): ComponentChildren {
  if (typeof part === 'string') return part;
  if (part.kind === 'code') return <code>{part.text}</code>;
  const parts = part.parts.map(showInline);
  switch (part.kind) {
    case 'link':
      return (
        <a href={part.href} target="_blank" rel="noopener noreferrer">
          {parts}
        </a>
      );
    case 'strong':
      return <strong>{parts}</strong>;
    case 'em':
      return <em>{parts}</em>;
    case 'del':
      return <del>{parts}</del>;
  }
}
