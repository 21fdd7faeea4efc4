import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { cutIntoPieces } from '../../../../src/engines/builtin/flite/pieces.ts';
import { compileFlite, FliteProgram } from '../../../../src/engines/builtin/flite/program.ts';
import { canBeSaid, speakableText } from '../../../../src/engines/builtin/flite/speakable-text.ts';
import { threadCpuMs } from '../../../support/thread-cpu.ts';

let flite: FliteProgram;
beforeAll(async () => {
  flite = new FliteProgram(await compileFlite());
});

/** The words that flite speaks for a text, as it prints them. */
function saidWords(text: string): string {
  const { stdout } = flite.run(['-voice', 'kal', '-pw', '-t', text, '-o', 'none']);
  return stdout.replaceAll('_a', 'a').trim().split(/\s+/).join(' ');
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.string({ unit: fc.constantFrom(...'ab.I, 1\n#*-:/$%&()@_€½²😀é你—'), maxLength: 200 }),
  fc.lorem({ maxCount: 60, mode: 'sentences' }),
);

describe('a text of characters with long names', () => {
  const characters = 4_000;
  const marks = ['\ufdfd', '\ufdfa', '\u{1f937}', '\u2103', '9%', '\u{1f469}\u200d\u{1f680}'];
  const texts = [...marks.map((mark) => mark.repeat(characters)), marks.join('').repeat(characters)].map(
    (text) => Array.from(text).slice(0, characters).join(''),
  );

  it('is spoken with up to eight letters for each character, at its end as well as at its start', () => {
    for (const text of texts) expect(speakableText(text).length).toBeLessThanOrEqual(8 * characters);
    const prose = 'and so on '.repeat(20).trim();
    const spoken = speakableText(`${'\ufdfd'.repeat(3_800)} ${prose}`);
    expect([spoken.length <= 8 * characters, spoken.endsWith(prose.slice(-90))]).toEqual([true, true]);
    expect(speakableText('\ufdfd \ufdfa')).toMatch(/^bismillah/i);
  });
});

describe('text that flite can say', () => {
  const cases: readonly (readonly [kind: string, text: string, said: string])[] = [
    [
      'numbers and years, left to flite',
      'In 1984, 3.14 and 1,234',
      'in nineteen eighty four three point one four and one thousand two hundred thirty four',
    ],
    ['lists of numbers', 'rooms 12, 13 and 14', 'rooms twelve thirteen and fourteen'],
    ['titles, left to flite', 'Dr. Smith', 'doctor smith'],
    [
      'abbreviations',
      'Prof. X, e.g. No. 5, etc. Jan. 5',
      'professor x for example number five et cetera january fifth',
    ],
    ['dollars, left to flite', 'It costs $5.20', 'it costs five dollars twenty cents'],
    ['other currencies', '€5.20, £1 and 300 ¥', 'five euros twenty cents one pound and three hundred yen'],
    ['signs of currencies alone', 'pay in ₽ or ₿', 'pay in rubles or bitcoins'],
    ['hashtags', 'see #music', 'see hashtag music'],
    ['large amounts', '€3 million, $5k', 'three million euros five thousand dollars'],
    ['amounts below zero', '-$5 and −3', 'minus five dollars and minus three'],
    ['dates', 'on 2026-11-21', 'on november twenty first twenty twenty six'],
    ['times, left to flite', 'at 12:30', 'at twelve thirty'],
    ['times that flite does not say', '00:00', 'zero hours zero minutes'],
    ['times with seconds', '23:59:01', 'twenty three hours fifty nine minutes one second'],
    ['units', '5 km at 20°C', 'five kilometers at twenty degrees celsius'],
    ['heights', `5'6" tall`, 'five feet six inches tall'],
    ['URLs', 'See https://example.com/docs.', 'see example dot com slash docs'],
    ['e-mail addresses', 'me@example.org', 'me at example dot org'],
    ['file names', 'open main.ts', 'open main dot ts'],
    [
      'numbers with several dots',
      '192.168.0.1',
      'one hundred ninety two dot one hundred sixty eight dot zero dot one',
    ],
    ['signs', 'rock & roll = 50 % + C#', 'rock and roll equals fifty percent plus c sharp'],
    ['arithmetic', '3 × 4 − 5', 'three times four minus five'],
    ['fractions', '2½ cups', 'two and a half cups'],
    ['powers', 'x² + 2¹⁰', 'x squared plus two to the power of ten'],
    ['arrows', 'A → B', 'a to b'],
    ['typographic marks', '“Don’t” – he said…', 'dont he said'],
    ['ligatures and full width', 'ﬁne ＡＢＣ', 'fine a b c'],
    ['accents', 'naïve Café', 'naive cafe'],
    ['Cyrillic', 'Привет', 'privet'],
    ['Greek', 'Αθήνα', 'athina'],
    ['Greek letters in formulas', '2 π', 'two pi'],
    ['Chinese', '你好。', 'ni hao'],
    ['Japanese', 'カタカナ', 'katakana'],
    ['Korean', '안녕', 'an nyeong'],
    ['Arabic', 'مرحبا', 'm r h b'],
    ['emoji', 'I ❤️ it 👍🏽', 'i heart it thumbsup'],
    ['flags', '🇫🇷', 'f r flag'],
    ['Markdown', '# Title\n\n- **one**\n- `two`', 'title one two'],
    ['lone surrogates', 'a\ud800b', 'a b'],
    ['unseen characters', 'in\u00advis\u200dible\u202e', 'invisible'],
    ['text that looks like an option', '-lv', 'l v'],
  ];
  it.each(cases)('%s: %s', (_, text, said) => {
    expect(saidWords(speakableText(text).replace(/\n+/g, ' '))).toBe(said);
  });

  it('keeps only line ends that are audible as a pause', () => {
    const text = 'A heading\n\nA line that is\nonly wrapped.\n- milk\n- eggs\n\n\nThe end';
    expect(speakableText(text)).toBe('A heading\n\nA line that is only wrapped.\nmilk\neggs\n\nThe end');
  });

  it.each(['', ' \n ', '?!', '...', '— – -', '***', '\u200b\u200d\ufe0f', '\u0007\u202e', '( )'])(
    'finds nothing to speak in %j',
    (text) => {
      expect(canBeSaid(speakableText(text))).toBe(false);
    },
  );

  it('is printable ASCII for any text', () => {
    fc.assert(
      fc.property(anyText, (text) => /^[\x20-\x7e\n]*$/.test(speakableText(text))),
      { numRuns: 500 },
    );
  });

  it('takes a moment for any 4,000 characters', () => {
    for (const unit of [
      'a',
      '1',
      '.',
      'a.',
      '1:',
      'a@',
      ' ',
      '\n',
      '<a',
      '€1',
      '$',
      '-',
      '😀',
      '你',
      'wwww.',
      '\ud800',
    ]) {
      const text = unit.repeat(4000 / unit.length);
      expect(
        threadCpuMs(() => cutIntoPieces(speakableText(text))),
        unit,
      ).toBeLessThan(500);
    }
  });
});

describe('pieces of a text', () => {
  const withoutBlanks = (text: string) => text.replace(/\s/g, '');

  it('contain all of the text, once and in order', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const speakable = speakableText(text);
        const joined = cutIntoPieces(speakable).map((piece) => piece.text);
        expect(withoutBlanks(joined.join(''))).toBe(withoutBlanks(speakable));
      }),
      { numRuns: 500 },
    );
  });

  it('are at most 300 characters, and fewer if digits or spelled letters take long to say', () => {
    const longest = (text: string) => Math.max(...cutIntoPieces(text).map((piece) => piece.text.length));
    expect(longest('word '.repeat(800))).toBeLessThanOrEqual(300);
    expect(longest('a'.repeat(4000))).toBeLessThanOrEqual(300);
    expect(longest('7'.repeat(4000))).toBeLessThanOrEqual(50);
    expect(longest('XKCD '.repeat(800))).toBeLessThanOrEqual(100);
  });

  it('start with a short one, which ends at a clause if possible', () => {
    const clause = 'When the rain had stopped at last,';
    const [first] = cutIntoPieces(
      `${clause} we walked down to the old harbour and looked for a boat to take us.`,
    );
    expect(first).toEqual({ text: clause, pauseMs: 120 });
    const [words] = cutIntoPieces('word '.repeat(100).trim());
    expect(words?.text.length).toBeLessThanOrEqual(60);
    expect(words?.pauseMs).toBe(0);
  });

  it('end with sentences, not with abbreviations, initials or decimals', () => {
    const text =
      'Dr. J. R. Smith paid $3.50 for it. The U.S. Army did not! "Why?" he asked. We met at 5 p.m. Then we left.';
    expect(cutIntoPieces(text).map((piece) => piece.text)).toEqual([
      'Dr. J. R. Smith paid $3.50 for it.',
      'The U.S. Army did not!',
      '"Why?" he asked.',
      'We met at 5 p.m.',
      'Then we left.',
    ]);
  });

  it('have a pause behind a sentence, and a longer one behind a paragraph', () => {
    const pauses = cutIntoPieces('This is the first one. And the second.\n\nThis is the third.').map(
      (p) => p.pauseMs,
    );
    expect(pauses).toEqual([350, 700, 700]);
  });

  it('do not separate a date or a number from its words', () => {
    const [first, second] = cutIntoPieces(
      speakableText(`It all began a very long time ago, on November 21, 2026, ${'and so on '.repeat(9)}`),
    );
    expect(first?.text).toBe('It all began a very long time ago,');
    expect(second?.text).toMatch(/^on November 21, -- 2026,/);
  });
});
