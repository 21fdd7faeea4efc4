import assert from 'node:assert/strict';
import { cutIntoPieces } from '../../../src/engines/builtin/flite/pieces.ts';
import { canBeSaid, speakableText } from '../../../src/engines/builtin/flite/speakable-text.ts';
import type { FuzzTarget } from '../target.ts';

const pieceLettersMax = 350;
const withoutBlanks = (text: string) => text.replace(/\s+/g, '');

/** A text for speech. */
export const sentences: FuzzTarget = {
  seeds: [
    'Dr. Smith paid $5.20 on 5/6/2026 at 12:30, i.e. 3 km/h; see https://example.com/a?b=c or a@b.com!\n\n- One\n- Two',
    'Naïve café — “quoted” … 50% of 1,000,000 = ½ × 2³. 😀👨‍👩‍👧 日本語 Русский العربية ١٢٣',
    '5 + 3 - 2 / 4 = x^2; £3.5m, €1bn, 20°C, 10:00am, 1st 2nd, #tag @name, a_b-c, 1e10, 0x1F, 192.168.0.1',
  ],
  words: [
    '. ',
    ', ',
    '\n\n',
    '$',
    '€',
    '%',
    '½',
    '😀',
    '\u200d',
    '\u202e',
    '\u0301',
    '٣',
    '9',
    '1,000',
    'Dr.',
    'www.',
    '://',
    '@',
    '*',
    '_',
    '`',
    '|',
    '\u2028',
  ],
  open: () => ({
    read(input) {
      const written = speakableText(input.toString());
      assert.match(written, /^[\n -~]*$/, 'not all of it is printable ASCII');
      if (!canBeSaid(written)) return;
      const pieces = cutIntoPieces(written);
      assert.equal(withoutBlanks(pieces.map(({ text }) => text).join('')), withoutBlanks(written));
      for (const { text } of pieces)
        assert.ok(text.length <= pieceLettersMax, `a piece has ${text.length} letters`);
    },
  }),
};
