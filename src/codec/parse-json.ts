/** Parses JSON without rounding integers. A reviver would cost a hundred times as much. */
import { randomUUID } from 'node:crypto';
import { isObject } from '../core/values/json.ts';
import { setMember } from './shape.ts';

/** Doubles represent every integer with fewer digits. */
const digitsMin = 16;
const manyDigits = new RegExp(`[0-9]{${digitsMin}}`);
const ascii = { zero: 0x30, nine: 0x39 } as const;
const longInteger = /(?<![\d.eE+-])-?[1-9]\d{15,}(?![\d.eE])/g;
/** Longer texts are parsed with doubles alone, as the search for digits would block the event loop for too long. */
const charactersMax = 4 * 1024 * 1024;
/** Prefix of the strings that stand for long integers. No client can know it. */
const mark = randomUUID();

/**
 * `JSON.parse`, with a raw JSON object in place of each integer that a double would round.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  if (text.length > charactersMax || !hasManyDigits(text)) return JSON.parse(text);
  const marked = withMarks(text);
  return marked === text ? JSON.parse(text) : unmarked(JSON.parse(marked));
}

/** Looks at every 16th character, as so many digits in a row reach over one of them. */
function hasManyDigits(text: string): boolean {
  for (let at = digitsMin - 1; at < text.length; at += digitsMin) {
    const code = text.charCodeAt(at);
    if (code < ascii.zero || code > ascii.nine) continue;
    if (manyDigits.test(text.slice(at - digitsMin + 1, at + digitsMin))) return true;
  }
  return false;
}

function withMarks(text: string): string {
  let result = '';
  let copied = 0;
  for (let at = 0; at < text.length; ) {
    const open = text.indexOf('"', at);
    const end = open < 0 ? text.length : open;
    if (end - at >= digitsMin) {
      const outside = text.slice(at, end);
      const replaced = outside.replace(longInteger, markOf);
      if (replaced !== outside) {
        result += text.slice(copied, at) + replaced;
        copied = end;
      }
    }
    at = open < 0 ? end : endOfString(text, open + 1);
  }
  return copied === 0 ? text : result + text.slice(copied);
}

function markOf(digits: string): string {
  return String(Number(digits)) === digits ? digits : `"${mark}${digits}"`;
}

/** Where the string that continues at `start` ends. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let at = quote;
    while (text[at - 1] === '\\') at--;
    if ((quote - at) % 2 === 0) return quote + 1;
  }
  return text.length;
}

/** Changes the value in place. */
function unmarked(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.startsWith(mark) ? JSON.rawJSON(value.slice(mark.length)) : value;
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) value[index] = unmarked(value[index]);
  } else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      const member = value[name];
      const plain = unmarked(member);
      if (plain !== member) setMember(value, name, plain);
    }
  }
  return value;
}
