import { describe, expect, it } from 'vitest';
import { Clauses } from '../../../src/core/realtime/clauses.ts';
import { Random } from '../../support/random.ts';

/** The clauses of a text that comes in parts of this size. */
function clausesOf(text: string, size = 3): string[] {
  const clauses = new Clauses();
  const found: string[] = [];
  for (let at = 0; at < text.length; at += size) found.push(...clauses.add(text.slice(at, at + size)));
  return [...found, ...clauses.finish()];
}

describe('a text that is spoken while it is written', () => {
  it.each([
    ['Yes. I see. Go on', ['Yes. ', 'I see. ', 'Go on']],
    ['It is 3.5 metres, or e.g. four!', ['It is 3.5 metres, ', 'or e.g. ', 'four!']],
    ['Well, yes, of course, it is so, and so.', ['Well, yes, of course, ', 'it is so, and so.']],
    ['"Stop!" she said.\nThen:', ['"Stop!" ', 'she said.\n', 'Then:']],
    ['... Hm. 你好。再见！', ['... Hm. ', '你好。', '再见！']],
    ['', []],
  ])('%j is cut into %j', (text, clauses) => {
    expect(clausesOf(text)).toEqual(clauses);
    expect(clausesOf(text, 1)).toEqual(clauses);
  });

  it('is cut at 300 characters without punctuation, between words, and never within a character', () => {
    const words = clausesOf('word '.repeat(200));
    expect(words.every((clause) => clause.length <= 300 && clause.endsWith(' '))).toBe(true);
    for (const clause of clausesOf(`x${'😀'.repeat(400)}`)) expect(clause.isWellFormed()).toBe(true);
  });

  it('stays whole, however it is cut', () => {
    const random = new Random(3);
    const parts = ['a', 'word', ' ', '. ', ', ', '! ', '\n', '。', '😀', '3.5', '"', '…'];
    for (let round = 0; round < 2_000; round++) {
      const text = Array.from({ length: random.below(400) }, () => random.pick(parts)).join('');
      const clauses = clausesOf(text, 1 + random.below(40));
      expect(clauses.join('')).toBe(text);
      expect(clauses.slice(0, -1).every((clause) => clause !== '' && clause.length <= 300)).toBe(true);
    }
  });
});
