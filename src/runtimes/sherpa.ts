import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Archive, Runtime } from './runtime.ts';

const version = '1.13.8';
const mebibyte = 1024 ** 2;
/** Node with Parley's code, the library, and the decoder or encoder. */
const ownBytes = 160 * mebibyte;

/** The archives of npm with the library for each platform. */
const libraries: Readonly<Record<string, string>> = {
  'linux-x64': '13291bcd825da5858ca27a35443e9a2c229a40616c0910086de2db12c5c9312c',
  'linux-arm64': 'e1671ad6e94e51947229a5736d06022780f3fba967da8d917173cd9765902ee8',
  'darwin-x64': '3e583d3423160cb8a0f9316008e293ad9a6b66c63e1966ad399a88300390fbaa',
  'darwin-arm64': 'e1abc1d9676478996574de922e55714d80b4500b860bc4e7349aa01cd0ea4929',
};

/** sherpa-onnx in a process of this program: its library ends its process if it cannot use a file. */
export const sherpa: Runtime = {
  name: 'sherpa',
  program: 'sherpa-onnx-node',
  runs: 'speech and transcription models of sherpa-onnx',
  licence: 'Apache-2.0, with GPL-3.0 inside',
  notice:
    'The library of sherpa-onnx-node contains espeak-ng, which is under GPL-3.0-or-later, so Parley does not include it. It comes from registry.npmjs.org.',
  archives: archivesFor(`${process.platform}-${process.arch}`),
  advice: 'Run `parley runtimes install sherpa`.',
  find: ({ folder }) => {
    const own = join(folder, 'sherpa');
    return existsSync(join(own, 'node_modules/sherpa-onnx-node/package.json')) ? own : undefined;
  },
  settings: (found, { id, memoryBytes }, { threads, callsMax }) => ({
    command: [
      ...ownCommand(import.meta.url),
      ...['sherpa', id, '--data-dir', dirname(dirname(found)), '--socket', '{socket}'],
      ...['--threads', String(threads), '--calls', String(callsMax)],
    ],
    memoryBytes: memoryBytes + ownBytes,
  }),
};

function archivesFor(platform: string): Archive[] {
  const library = libraries[platform];
  if (library === undefined) return [];
  const own = 'db2a7b8b18d950b6e9ca5c1c919afec33fd3dd2bfef1aade0bea5a9fe7a1f0f1';
  return [archive('sherpa-onnx-node', own), archive(`sherpa-onnx-${platform}`, library)];
}

function archive(name: string, sha256: string): Archive {
  const from = `https://registry.npmjs.org/${name}/-/${name}-${version}.tgz`;
  return { from, sha256, into: `node_modules/${name}` };
}

/** Starts this program: from the sources, from `dist/src`, or as one executable, which contains its script. */
function ownCommand(url: string): string[] {
  if (!url.startsWith('file:')) return [process.execPath];
  const main = url.endsWith('.ts') ? '../main.ts' : './main.js';
  return [process.execPath, fileURLToPath(new URL(main, url))];
}
