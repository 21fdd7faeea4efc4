/** Splits the text of a block into code, emphasis and links. Anything else stays text. */

export type Inline =
  | string
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'link'; readonly href: string; readonly parts: readonly Inline[] }
  | { readonly kind: 'strong' | 'em' | 'del'; readonly parts: readonly Inline[] };

/** Emphasis whose end is not read yet. */
interface Open {
  readonly mark: string;
  parts: Inline[];
}

const openMax = 12;
const labelCharactersMax = 1_000;
const kinds = { '**': 'strong', __: 'strong', '*': 'em', _: 'em', '~~': 'del' } as const;
type Mark = keyof typeof kinds;

const escaped = /\\([!-/:-@[-`{-~])/y;
const marks = /\*+|_+|~~/y;
const ticks = /`+/y;
/** Longer runs of signs are text, such as a line to write on. */
const runMax = 4;
/** Only these schemes become links. Longer addresses stay text. */
const address = /https?:\/\/[^\s<>]{1,2000}(?![^\s<>])/y;
const target = /\(<?(https?:\/\/[^\s<>()]+(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?: +"[^"]*")?\)/y;
const plain = /[^\\*_~`[<h!]+/y;

export function inlineOf(text: string, hasLinks = true): readonly Inline[] {
  const stack: [Open, ...Open[]] = [{ mark: '', parts: [] }];
  const add = (part: Inline) => addTo(top(stack).parts, part);
  for (let at = 0; at < text.length; ) {
    const [part, next] = readAt(text, at, hasLinks) ?? [undefined, at];
    if (part !== undefined) {
      add(part);
      at = next;
      continue;
    }
    const run = match(marks, text, at)?.[0];
    if (run === undefined) {
      add(text.charAt(at));
      at++;
    } else at += emphasize(stack, text, at, run);
  }
  while (stack.length > 1) unwind(stack);
  return stack[0].parts;
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

const top = (stack: readonly [Open, ...Open[]]): Open => stack.at(-1) ?? stack[0];

/** Joins neighbouring texts. */
function addTo(parts: Inline[], part: Inline): void {
  const last = parts.at(-1);
  if (typeof part === 'string' && typeof last === 'string') parts[parts.length - 1] = last + part;
  else if (part !== '') parts.push(part);
}

/** Everything but emphasis. */
function readAt(text: string, at: number, hasLinks: boolean): readonly [Inline, number] | undefined {
  const [words] = match(plain, text, at) ?? [];
  if (words !== undefined) return [words, at + words.length];
  const [, sign] = match(escaped, text, at) ?? [];
  if (sign !== undefined) return [sign, at + 2];
  return readCode(text, at) ?? (hasLinks ? (readLink(text, at) ?? readAddress(text, at)) : undefined);
}

function readCode(text: string, at: number): readonly [Inline, number] | undefined {
  const [run] = match(ticks, text, at) ?? [];
  if (run === undefined) return undefined;
  const begin = at + run.length;
  for (let end = text.indexOf(run, begin); end !== -1; ) {
    const [found = ''] = match(ticks, text, end) ?? [];
    // A space at each side keeps ticks apart from those of the code.
    const code = text.slice(begin, end);
    if (found.length === run.length) {
      return [{ kind: 'code', text: /^ .* $/s.test(code) ? code.slice(1, -1) : code }, end + run.length];
    }
    end = text.indexOf(run, end + found.length);
  }
  return [run, begin];
}

/** A link, or an image as a link to it: the page loads nothing from other servers. */
function readLink(text: string, at: number): readonly [Inline, number] | undefined {
  const begin = text.startsWith('![', at) ? at + 2 : at + 1;
  if (text[begin - 1] !== '[') return undefined;
  const end = text.slice(begin, begin + labelCharactersMax).search(/(?<!\\)\]\(/);
  const found = end === -1 ? null : match(target, text, begin + end + 1);
  if (found === null) return undefined;
  const [whole, href = ''] = found;
  const label = text.slice(begin, begin + end);
  const parts = inlineOf(label === '' ? href : label, false);
  return [{ kind: 'link', href, parts }, begin + end + 1 + whole.length];
}

/** An address on its own, without the punctuation behind it. */
function readAddress(text: string, at: number): readonly [Inline, number] | undefined {
  const isInAngles = text[at] === '<';
  const begin = isInAngles ? at + 1 : at;
  if (!isInAngles && /\w/.test(text.charAt(at - 1))) return undefined;
  const [found = ''] = match(address, text, begin) ?? [];
  if (isInAngles && (found === '' || text[begin + found.length] !== '>')) return undefined;
  const href = isInAngles ? found : found.replace(/[.,;:!?)\]}'"*_~]+$/, '');
  if (href === '' || !URL.canParse(href)) return undefined;
  return [{ kind: 'link', href, parts: [href] }, begin + href.length + (isInAngles ? 1 : 0)];
}

/** Begins or ends emphasis, and returns the number of read characters. */
function emphasize(stack: [Open, ...Open[]], text: string, at: number, run: string): number {
  if (run.length > runMax) {
    addTo(top(stack).parts, run);
    return run.length;
  }
  const isOpen = (mark: string) => stack.some((open) => open.mark === mark);
  const before = text.charAt(at - 1);
  const size = run.length > 2 && run.startsWith(top(stack).mark) ? top(stack).mark.length || 2 : 2;
  const mark = run.slice(0, size);
  const after = text.charAt(at + run.length);
  // Underscores within words are parts of names.
  const isWithin = run.startsWith('_') && /\w/.test(before) && /\w/.test(after);
  const isEmpty = top(stack).mark === mark && top(stack).parts.length === 0;
  const canClose = /\S/.test(before) && !isWithin && !isEmpty && isOpen(mark);
  if (canClose) {
    while (top(stack).mark !== mark) unwind(stack);
    const { parts } = stack.pop() ?? { parts: [] };
    addTo(top(stack).parts, { kind: kinds[mark as Mark], parts });
  } else if (/\S/.test(after) && !isWithin && mark in kinds && !isOpen(mark) && stack.length < openMax) {
    stack.push({ mark, parts: [] });
  } else addTo(top(stack).parts, mark);
  return mark.length;
}

/** Emphasis without an end is text. */
function unwind(stack: [Open, ...Open[]]): void {
  const { mark, parts } = stack.pop() ?? { mark: '', parts: [] };
  for (const part of [mark, ...parts]) addTo(top(stack).parts, part);
}
