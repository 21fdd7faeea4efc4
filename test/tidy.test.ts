/** Checks the order of the code: imports point one way, none run in a circle, and a small file is a thing of its own. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

/** A file with fewer lines belongs to the only file that imports it, unless it declares types alone. */
const linesMin = 30;

/** Files that were small before. Take a line out where a file is joined or grows; add none. */
const smallBefore: readonly string[] = ['src/tokens/o200k-vocabulary.ts'];

/** The glossary has other words for these: recognise, report, say, mark dead. */
const vagueWords = ['heard', 'tells', 'told', 'judged', 'judge'];

/** The rooms of core that every subject may import. */
const foundations = ['values', 'entities', 'books', 'limits', 'billing', 'access'];

/** The rooms that each room may import, besides itself. `main` is `src/main.ts`. */
const mayImport: Record<string, readonly string[]> = {
  main: ['cli', 'app'],
  cli: ['app', 'codec', 'config', 'core', 'files', 'gen', 'media', 'models', 'runtimes'],
  app: [
    'config',
    'core',
    'engines',
    'files',
    'gen',
    'models',
    'runtimes',
    'identity',
    'mail',
    'store',
    'supervisor',
    'telemetry',
    'threads',
    'tokens',
    'transports',
    'webhooks',
  ],
  transports: ['codec', 'core', 'files', 'gen'],
  engines: ['codec', 'core', 'files', 'gen', 'media', 'threads'],
  models: ['core', 'files'],
  runtimes: ['files', 'models'],
  store: ['core', 'files', 'threads'],
  supervisor: ['core', 'files'],
  media: ['core', 'files', 'threads'],
  tokens: ['core', 'threads'],
  telemetry: ['core'],
  webhooks: ['core'],
  mail: ['core'],
  identity: ['core'],
  config: ['core', 'files'],
  codec: ['core', 'gen'],
  core: ['gen'],
  files: [],
  threads: ['core'],
};

/** The rooms of core that each of them may import. Files outside of these rooms combine them. */
const mayImportInCore: Record<string, readonly string[]> = {
  values: [],
  entities: ['values'],
  books: ['values', 'entities'],
  limits: ['values', 'entities', 'books'],
  billing: ['values', 'entities', 'books', 'limits'],
  access: ['values', 'entities', 'books', 'limits', 'billing'],
  idempotency: [...foundations],
  catalog: [...foundations],
  speech: [...foundations, 'idempotency', 'catalog'],
  transcription: [...foundations, 'idempotency', 'catalog', 'speech'],
  realtime: [...foundations, 'catalog', 'chat', 'responses', 'speech', 'transcription'],
  chat: [...foundations, 'idempotency', 'catalog'],
  responses: [...foundations, 'idempotency', 'chat'],
  messages: [...foundations, 'idempotency', 'chat'],
  completions: [...foundations, 'idempotency', 'chat'],
  accounts: [...foundations, 'catalog'],
  alerts: [...foundations],
};

interface Import {
  readonly from: string;
  readonly to: string;
}

const files = globSync('src/**/*.ts').sort();
/** The browser's part, which is not divided into rooms. */
const pages = globSync('console/**/*.{ts,tsx}').sort();
const sources = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));
const imports = files.flatMap((file) => importsOf(file));

function importsOf(from: string): Import[] {
  const specifiers = (sources.get(from) ?? '').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
  return [...specifiers].map(([, specifier = '']) => ({
    from,
    to: normalize(join(dirname(from), specifier)),
  }));
}

function roomOf(file: string): string {
  const [top, room = '', ...inside] = file.split('/');
  if (top !== 'src') return top ?? '';
  return inside.length === 0 ? room.replace(/\.ts$/, '') : room;
}

/** The room of core that a file is in. */
function coreRoomOf(file: string): string | undefined {
  const [top, room, inside, ...further] = file.split('/');
  if (top !== 'src' || room !== 'core') return undefined;
  return further.length === 0 ? undefined : inside;
}

/** The files and folders that a page names between backticks, without those that have a placeholder. */
function pathsIn(text: string): string[] {
  return [...text.matchAll(/`([\w.-]+(?:\/[\w.-]*)*)`/g)]
    .map(([, path = '']) => path)
    .filter((path) => path.includes('/') || /\.(ts|tsx|mjs|md|yaml)$/.test(path));
}

/** The two folders, below the common folder of both files, between which an import points. */
function arrowBetween(from: string, to: string): string | undefined {
  const [source, target] = [dirname(from).split('/'), dirname(to).split('/')];
  const fork = source.findIndex((name, at) => name !== target[at]);
  if (fork < 1 || target.length <= fork) return undefined;
  const folderOf = (parts: readonly string[]) => parts.slice(0, fork + 1).join('/');
  return `${folderOf(source)} -> ${folderOf(target)}`;
}

const targets = new Map(
  files.map((file) => [file, imports.flatMap(({ from, to }) => (from === file ? [to] : []))]),
);
/** Files whose imports lead into no circle. */
const straight = new Set<string>();

/** The first circle that an import leads into, as the files on the way. */
function circleFrom(file: string, way: readonly string[] = []): readonly string[] | undefined {
  if (straight.has(file)) return undefined;
  if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
  for (const target of targets.get(file) ?? []) {
    const circle = circleFrom(target, [...way, file]);
    if (circle) return circle;
  }
  straight.add(file);
  return undefined;
}

/** Files that the executable replaces by others of its own. */
const replaced = readFileSync('scripts/binary/bundles.mjs', 'utf8');

function smallFiles(): string[] {
  const importers = new Map<string, Set<string>>();
  for (const { from, to } of imports) importers.set(to, (importers.get(to) ?? new Set()).add(from));
  return files.filter((file) => {
    const text = sources.get(file) ?? '';
    const hasCode = /^(export )?(async )?(function|const|class|let)\b/m.test(text);
    // Each of these is a file of its own, however short.
    const isApart = /-(worker|thread)\.ts$|\/migrations\/\d{4}-/.test(file);
    const isSmall = text.trimEnd().split('\n').length < linesMin;
    return (
      isSmall && hasCode && !isApart && importers.get(file)?.size === 1 && !replaced.includes(`'${file}'`)
    );
  });
}

/** The words of all identifiers, in lower case. Leaves out comments and texts. */
function wordsOfIdentifiers(text: string): string[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/gm, ' ');
  return [...code.matchAll(/[A-Za-z]+/g)]
    .flatMap(([name]) => name.split(/(?=[A-Z])/))
    .map((word) => word.toLowerCase());
}

const isVague = (word: string) => vagueWords.includes(word);

describe('the house', () => {
  it('bounds its functions by Biome', () => {
    const { complexity } = JSON.parse(readFileSync('biome.json', 'utf8')).linter.rules;
    expect(complexity.noExcessiveLinesPerFunction).toMatchObject({ level: 'error' });
    expect(complexity.noExcessiveLinesPerFunction.options.maxLines).toBeLessThanOrEqual(70);
  });

  it('joins a small file to the only one that imports it', () => {
    expect(smallFiles().filter((file) => !smallBefore.includes(file))).toEqual([]);
  });

  it('names nothing by a word for which the glossary has another', () => {
    const vague = [...sources].filter(([, text]) => wordsOfIdentifiers(text).some(isVague));
    expect(vague.map(([file]) => file)).toEqual([]);
  });

  it('names its files in kebab-case, and none by a vague word', () => {
    const names = [...files, ...pages].map((file) => file.split('/').at(-1) ?? '');
    expect(names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.d)?\.tsx?$/.test(name))).toEqual([]);
    expect(names.filter((name) => /^(utils?|helpers?|common|misc|manager)\.ts$/.test(name))).toEqual([]);
  });

  it('has every file in a room, but main.ts', () => {
    const rooms = new Set(files.map(roomOf));
    expect([...rooms].sort()).toEqual(Object.keys(mayImport).sort());
  });

  it('imports one way', () => {
    const wrong = imports.filter(({ from, to }) => {
      const [source, target] = [roomOf(from), roomOf(to)];
      return source !== target && !mayImport[source]?.includes(target);
    });
    expect(wrong.map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
  });

  it('imports one way in core', () => {
    const wrong = imports.filter(({ from, to }) => {
      const [source, target] = [coreRoomOf(from), coreRoomOf(to)];
      if (source === undefined || target === undefined || source === target) return false;
      return !mayImportInCore[source]?.includes(target);
    });
    expect(wrong.map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
  });

  it('has no two folders side by side that import each other', () => {
    const arrows = new Set(imports.flatMap(({ from, to }) => arrowBetween(from, to) ?? []));
    const mutual = [...arrows].filter((arrow) => arrows.has(arrow.split(' -> ').reverse().join(' -> ')));
    expect(mutual).toEqual([]);
  });

  it('imports what the table in AGENTS.md states', () => {
    const rows = readFileSync('AGENTS.md', 'utf8').matchAll(/^\| `([a-z]+)` \| .+ \| ([a-z, -]+) \|$/gm);
    const stated = [...rows].map(([, room = '', rooms = '']) => [
      room,
      rooms === '-' ? [] : rooms.split(', ').sort(),
    ]);
    const allowed = Object.entries(mayImport).map(([room, rooms]) => [room, [...rooms].sort()]);
    expect(Object.fromEntries(stated)).toEqual(Object.fromEntries(allowed));
  });

  it('has a short page in each room, which names only what is there', () => {
    const rooms = Object.keys(mayImport).filter((room) => room !== 'main');
    const folders = [...rooms.map((room) => `src/${room}`), 'test', 'console', 'scripts'];
    const pagesOfRooms = folders.map((folder) => ({
      folder,
      text: readFileSync(join(folder, 'README.md'), 'utf8'),
    }));
    const tooLong = pagesOfRooms.filter(({ text }) => text.trimEnd().split('\n').length > 16);
    expect(tooLong.map(({ folder }) => folder)).toEqual([]);
    const untitled = pagesOfRooms.filter(({ folder, text }) => !text.startsWith(`# ${basename(folder)}\n`));
    expect(untitled.map(({ folder }) => folder)).toEqual([]);
    const missing = pagesOfRooms.flatMap(({ folder, text }) =>
      pathsIn(text)
        .filter((path) => !existsSync(join(folder, path)) && !existsSync(path))
        .map((path) => `${folder}/README.md: ${path}`),
    );
    expect(missing).toEqual([]);
  });

  it('imports only existing files', () => {
    const missing = imports.filter(({ to }) => to.startsWith('src/') && !existsSync(to));
    expect(missing).toEqual([]);
  });

  it('imports in no circle', () => {
    const circles = files.map((file) => circleFrom(file)).filter((circle) => circle !== undefined);
    expect(circles[0]).toBeUndefined();
  });

  it('keeps HTTP, SQL and Connect out of core', () => {
    const foreign =
      /from '(node:http2?|node:net|better-sqlite3|kysely|undici|find-my-way|@connectrpc\/[^']+|@grpc\/[^']+)'/;
    // These two compute with addresses and open no connections.
    const harmless = "import { BlockList, isIP } from 'node:net';";
    const leaks = [...sources].filter(
      ([file, text]) => file.startsWith('src/core/') && foreign.test(text.replace(harmless, '')),
    );
    expect(leaks.map(([file]) => file)).toEqual([]);
  });

  it('spreads no literal into another, which only prevents the formatter from breaking lines', () => {
    const all = globSync('{src,test,console,bench,scripts}/**/*.{ts,tsx,mjs}', {
      exclude: ['**/node_modules/**'],
    });
    expect(all.filter((file) => /\.\.\.\{/.test(readFileSync(file, 'utf8')))).toEqual([]);
  });

  it('reads the environment in config only', () => {
    const readers = [...sources].filter(([, text]) => /process\.env/.test(text)).map(([file]) => file);
    const allowed = /^src\/(config|cli)\//;
    expect(readers.filter((file) => !allowed.test(file))).toEqual([]);
  });
});
