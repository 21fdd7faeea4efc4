import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../src/codec/parse-json.ts';
import { withDoubles } from '../../src/core/values/long-integers.ts';

const again = (text: string) => JSON.stringify(parseJson(text));

describe('JSON', () => {
  it.each([
    '{"seed":9007199254740993}',
    '[-9007199254740993,{"a":[12345678901234567890123]}]',
    '{"text":"9007199254740993 \\\\\\" 9007199254740993","id":9007199254740993}',
    '{"\\\\":[1234567890123456789,"\\\\",1234567890123456789]}',
    '{"a":9007199254740993,"__proto__":9007199254740993}',
    '[9007199254740993,1.5,9007199254740992,"",{},null,true]',
  ])('%s keeps its digits', (text) => {
    expect(again(text)).toBe(text);
    expect(withDoubles(parseJson(text))).toEqual(JSON.parse(text));
  });

  it.each([
    '[1.1234567890123456789]',
    '[12345678901234567e2]',
    '[1e1234567890123456]',
    '[-0,1E5,10000000000000000]',
  ])('%s becomes doubles, as in JSON.parse', (text) => expect(parseJson(text)).toEqual(JSON.parse(text)));

  it.each([
    '[01234567890123456789]',
    '[-]',
    '[9007199254740993',
    '["9007199254740993]',
    '[+9007199254740993]',
  ])('%s is refused', (text) => expect(() => parseJson(text)).toThrow(SyntaxError));

  it('keeps the digits of an integer wherever it begins', () => {
    for (let at = 0; at < 40; at++) {
      expect(again(`[${' '.repeat(at)}9007199254740993,1234567]`)).toBe('[9007199254740993,1234567]');
    }
  });

  it('of any kind with integers of any length is written as it was', () => {
    const digits = fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n });
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
        digits.map(String),
        fc.constantFrom('"\\\\\\""', 'null', '"1234567890123456789"'),
        fc.array(tie('any')).map((items) => `[${items.join()}]`),
        fc
          .dictionary(fc.string(), tie('any'))
          .map(
            (members) =>
              `{${Object.entries(members).map(([name, member]) => `${JSON.stringify(`k${name}`)}:${member}`)}}`,
          ),
      ),
    })).any;
    fc.assert(
      fc.property(value, (text) => {
        expect(again(String(text))).toBe(text);
      }),
      { numRuns: 300 },
    );
  });
});
