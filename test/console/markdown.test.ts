import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Block, blocksOf } from '../../console/app/playground/markdown/blocks.ts';
import { type Inline, inlineOf } from '../../console/app/playground/markdown/inline.ts';

const blocks = (text: string) => blocksOf(text.split('\n'));
const paragraph = (text: string) => ({ kind: 'paragraph', text });
const link = (href: string, text = href) => ({ kind: 'link', href, parts: [text] });

describe('the blocks of Markdown', () => {
  it.each<[string, string, readonly unknown[]]>([
    ['a heading', '## Two ##\ntext', [{ kind: 'heading', text: 'Two' }, paragraph('text')]],
    ['lines of a paragraph', 'one\ntwo\n\nthree', [paragraph('one\ntwo'), paragraph('three')]],
    ['a year at the start of a line', 'It was in\n1986. Then', [paragraph('It was in\n1986. Then')]],
    ['code', '```js\nif (a)\n  b;\n```', [{ kind: 'code', language: 'js', text: 'if (a)\n  b;' }]],
    ['code that is not yet written', '~~~\n# a', [{ kind: 'code', language: '', text: '# a' }]],
    ['a quote', '> one\n> two', [{ kind: 'quote', blocks: [paragraph('one\ntwo')] }]],
    ['a rule', 'a\n\n---', [paragraph('a'), { kind: 'rule' }]],
    [
      'a list within a list',
      '3. one\n  - inner\n     more\n\n4. two',
      [
        {
          kind: 'list',
          start: 3,
          items: [
            [paragraph('one'), { kind: 'list', items: [[paragraph('inner\nmore')]] }],
            [paragraph('two')],
          ],
        },
      ],
    ],
    [
      'a table, whose rows have the cells of its head',
      '| a | b |\n|:--|--:|\n| 1 \\| 2 |\n| 3 | 4 | 5 |',
      [
        {
          kind: 'table',
          head: ['a', 'b'],
          rows: [
            ['1 | 2', ''],
            ['3', '4'],
          ],
        },
      ],
    ],
    ['a bar in a text', 'a | b', [paragraph('a | b')]],
    ['an item with a line separator', '- a\u2028b', [{ kind: 'list', items: [[paragraph('a\u2028b')]] }]],
    [
      'a table of too many columns, as text',
      `${'|a'.repeat(101)}|\n${'|-'.repeat(101)}|`,
      [paragraph(`${'|a'.repeat(101)}|\n${'|-'.repeat(101)}|`)],
    ],
    ['no code in a line of many signs', `${'~'.repeat(20_000)}\``, [paragraph(`${'~'.repeat(20_000)}\``)]],
  ])('are read: %s', (_, text, expected) => {
    expect(blocks(text)).toEqual(expected);
  });
});

describe('the text of a block', () => {
  it.each<[string, string, readonly unknown[]]>([
    [
      'emphasis',
      '**a** _b_ ~~c~~',
      [
        { kind: 'strong', parts: ['a'] },
        ' ',
        { kind: 'em', parts: ['b'] },
        ' ',
        { kind: 'del', parts: ['c'] },
      ],
    ],
    ['emphasis in emphasis', '***a***', [{ kind: 'strong', parts: [{ kind: 'em', parts: ['a'] }] }]],
    ['names and sums', 'a_b_c 2 * 3 * 4 **', ['a_b_c 2 * 3 * 4 **']],
    ['lines to write on', 'Name: ________. ____. ~~~~.', ['Name: ________. ____. ~~~~.']],
    ['what is not yet ended', 'so **much', ['so **much']],
    ['code', '`**a**` and `` ` ``', [{ kind: 'code', text: '**a**' }, ' and ', { kind: 'code', text: '`' }]],
    ['signs after a backslash', '\\*a\\*', ['*a*']],
    ['a link', '[a](https://b.c/(d) "e")', [link('https://b.c/(d)', 'a')]],
    ['an address', 'See https://a.b/c.', ['See ', link('https://a.b/c'), '.']],
    ['an address in angles', '<http://a.b>', [link('http://a.b')]],
    ['an image', '![a](https://b.c)', [link('https://b.c', 'a')]],
    ['a link in a link', '[https://a.b](https://c.d)', [link('https://c.d', 'https://a.b')]],
    ['other schemes', '[a](javascript:b) [a](data:b) [a](//b)', ['[a](javascript:b) [a](data:b) [a](//b)']],
    ['HTML', '<b onclick="a">b</b>', ['<b onclick="a">b</b>']],
  ])('is read: %s', (_, text, expected) => {
    expect(inlineOf(text)).toEqual(expected);
  });

  it('has no link but to http and https, whatever a model writes', () => {
    const pieces = fc.constantFrom(
      ...[
        '[',
        ']',
        '(',
        ')',
        '<',
        '>',
        '*',
        '**',
        '_',
        '`',
        '```',
        '|',
        '-',
        '\n',
        ' ',
        '# ',
        '> ',
        '1. ',
        '"',
      ],
      ...['a', 'https://a.b', 'javascript:alert(1)', 'data:text/html,', '//c.d', '!', '\\', '|-|'],
    );
    const linksOf = (parts: readonly Inline[]): string[] =>
      parts.flatMap((part) => {
        if (typeof part === 'string' || part.kind === 'code') return [];
        return [...(part.kind === 'link' ? [part.href] : []), ...linksOf(part.parts)];
      });
    const all = (block: Block): string[] => {
      if (block.kind === 'quote') return block.blocks.flatMap(all);
      if (block.kind === 'list') return block.items.flat().flatMap(all);
      if (block.kind === 'table')
        return [block.head, ...block.rows].flat().flatMap((cell) => linksOf(inlineOf(cell)));
      return block.kind === 'paragraph' || block.kind === 'heading' ? linksOf(inlineOf(block.text)) : [];
    };
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), (text) => {
        for (const href of blocks(text.join('')).flatMap(all)) expect(href).toMatch(/^https?:\/\//);
      }),
    );
  });
});
