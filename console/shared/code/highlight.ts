/** Splits code into pieces that get colors of their own. It knows words, no grammar, so that it stays small. */

type Kind = 'comment' | 'string' | 'keyword' | 'number' | 'name';

export interface Piece {
  /** Undefined for plain text. */
  readonly kind: Kind | undefined;
  readonly text: string;
}

const word = (list: string) => `\\b(?:${list.replaceAll(' ', '|')})\\b`;
const hashComment = '(?<=^|\\s)#.*';
const slashComment = '\\/\\/.*|\\/\\*[^]*?\\*\\/';
const line = '"(?:\\\\.|[^"\\\\\\n])*"|\'(?:\\\\.|[^\'\\\\\\n])*\'';
const number = '\\b\\d[\\d_]*(?:\\.\\d+)?\\b';

function pattern(parts: Partial<Record<Kind, string>>): RegExp {
  const groups = Object.entries(parts).map(([kind, source]) => `(?<${kind}>${source})`);
  return new RegExp(groups.join('|'), 'gm');
}

const shell = pattern({
  comment: hashComment,
  string: '\'[^\']*\'|"(?:\\\\.|[^"\\\\])*"',
  keyword: word('export if then else fi for do done while'),
  name: '\\$\\w+|\\$\\{[^}]*\\}|(?<=\\s)--?[A-Za-z][\\w-]*',
});
const script = pattern({
  comment: slashComment,
  string: `${line}|\`(?:\\\\.|[^\`\\\\])*\``,
  keyword: word(
    'async await break case catch class const continue else export extends false finally for from function if import in instanceof interface let new null of return switch this throw true try type typeof undefined var void while yield',
  ),
  number,
});
const python = pattern({
  comment: hashComment,
  string: `"""[^]*?"""|${line}`,
  keyword: word(
    'and as assert async await break class continue def elif else except False finally for from if import in is lambda None not or pass raise return True try while with yield',
  ),
  number,
});
const compiled = pattern({
  comment: slashComment,
  string: `${line}|\`[^\`]*\``,
  keyword: word(
    'break case catch class const continue default defer else false final finally for func go if implements import interface map new nil null package private public range return static struct switch throw throws true try type var void while',
  ),
  number,
});
const settings = pattern({
  comment: hashComment,
  name: '(?<=^[ -]*|[{,] ?)[\\w.$-]+(?=:(?:\\s|$))',
  string: line,
  keyword: word('true false null'),
  number,
});
const json = pattern({
  name: `(?:${line})(?=\\s*:)`,
  string: line,
  keyword: word('true false null'),
  number,
});

/** By the first word of a code fence, or the name of a sample. */
const patterns: Readonly<Record<string, RegExp>> = {
  sh: shell,
  curl: shell,
  gRPC: shell,
  ts: script,
  js: script,
  TypeScript: script,
  py: python,
  python,
  Python: python,
  'gRPC in Python': python,
  go: compiled,
  java: compiled,
  'gRPC in Go': compiled,
  yaml: settings,
  json,
};

/** @param language one that is unknown gives a single piece */
export function highlighted(text: string, language: string): Piece[] {
  const known = patterns[language];
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of known === undefined ? [] : text.matchAll(known)) {
    const [kind] = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined) ?? [];
    if (match.index > end) pieces.push({ kind: undefined, text: text.slice(end, match.index) });
    pieces.push({ kind: kind as Kind, text: match[0] });
    end = match.index + match[0].length;
  }
  if (end < text.length) pieces.push({ kind: undefined, text: text.slice(end) });
  return pieces;
}
