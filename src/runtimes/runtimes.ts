import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findExecutable } from '../files/executable.ts';
import type { LocalModel } from '../models/model-store.ts';
import type { Archive, Runtime, RuntimeOptions } from './runtime.ts';

const sherpaVersion = '1.13.8';
const mebibyte = 1024 ** 2;
/** Node with Parley's code, the library of sherpa-onnx, and the decoder or encoder. */
const sherpaBytes = 160 * mebibyte;

/** The archives of npm with the library for each platform. */
const sherpaLibraries: Readonly<Record<string, string>> = {
  'linux-x64': '13291bcd825da5858ca27a35443e9a2c229a40616c0910086de2db12c5c9312c',
  'linux-arm64': 'e1671ad6e94e51947229a5736d06022780f3fba967da8d917173cd9765902ee8',
  'darwin-x64': '3e583d3423160cb8a0f9316008e293ad9a6b66c63e1966ad399a88300390fbaa',
  'darwin-arm64': 'e1abc1d9676478996574de922e55714d80b4500b860bc4e7349aa01cd0ea4929',
};

/** sherpa-onnx in a process of this program: its library ends its process if it cannot use a file. */
const sherpa: Runtime = {
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
    memoryBytes: memoryBytes + sherpaBytes,
  }),
};

function archivesFor(platform: string): Archive[] {
  const library = sherpaLibraries[platform];
  if (library === undefined) return [];
  const own = 'db2a7b8b18d950b6e9ca5c1c919afec33fd3dd2bfef1aade0bea5a9fe7a1f0f1';
  return [archive('sherpa-onnx-node', own), archive(`sherpa-onnx-${platform}`, library)];
}

function archive(name: string, sha256: string): Archive {
  const from = `https://registry.npmjs.org/${name}/-/${name}-${sherpaVersion}.tgz`;
  return { from, sha256, into: `node_modules/${name}` };
}

/** Starts this program: from the sources, from `dist/src`, or as one executable, which contains its script. */
function ownCommand(url: string): string[] {
  if (!url.startsWith('file:')) return [process.execPath];
  const main = url.endsWith('.ts') ? '../main.ts' : './main.js';
  return [process.execPath, fileURLToPath(new URL(main, url))];
}

const llamaServerName = 'llama-server';
/** Code and buffers of llama-server. The context counts once it is measured. */
const llamaBytes = 64 * mebibyte;

/** The server of llama.cpp. */
const llama: Runtime = {
  name: 'llama',
  program: llamaServerName,
  runs: 'chat models in GGUF files',
  licence: 'MIT',
  archives: [],
  advice:
    'Install the package llama.cpp of your system if it has one, write the path of llama-server as `programs.llamaServer`, or run `parley runtimes install llama` with an archive.',
  find: ({ folder, path, llamaServer }) =>
    llamaServer === undefined
      ? (findExecutable(join(folder, 'llama', llamaServerName), '') ?? findExecutable(llamaServerName, path))
      : findExecutable(llamaServer, path),
  versionArguments: ['--version'],
  settings: (found, model, options) => ({
    command: [found, ...argumentsFor(model, options)],
    memoryBytes: model.memoryBytes + llamaBytes,
    parameters: { set: options.promptCache ? {} : { cache_prompt: false }, defaults: model.defaults ?? {} },
  }),
};

function argumentsFor({ id, files }: LocalModel, options: RuntimeOptions): string[] {
  const { contextTokens, callsMax, threads, promptCache } = options;
  const [first] = files.map(({ path }) => path).sort();
  return [
    ...['--host', '{socket}', '--model', first ?? '', '--alias', id],
    // The server divides its context among the calls.
    ...['--parallel', String(callsMax), '--ctx-size', String(contextTokens * callsMax)],
    ...['--threads', String(threads), '--jinja', '--no-webui', '--offline'],
    ...(promptCache ? [] : ['--no-cache-prompt', '--cache-ram', '0']),
    ...options.arguments,
  ];
}

/** Every runtime, by its name in manifests and commands. */
export const runtimes: ReadonlyMap<string, Runtime> = new Map(
  [llama, sherpa].map((runtime) => [runtime.name, runtime]),
);
