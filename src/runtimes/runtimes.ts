import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findExecutable } from '../files/executable.ts';
import type { LocalModel } from '../models/model-store.ts';
import type { Archive, Runtime, RuntimeOptions, RuntimeProgram } from './runtime.ts';

const sherpaVersion = '1.13.8';
const mebibyte = 1024 ** 2;
const thisPlatform = `${process.platform}-${process.arch}`;
const libraryName = 'llama-addon.node';
/** Node with Parley's code, the library of the runtime, and the decoder or encoder. */
const ownProgramBytes = 160 * mebibyte;

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
  archives: sherpaArchives(),
  advice: 'Run `parley runtimes install sherpa`.',
  find: ({ folder }) => {
    const own = join(folder, 'sherpa');
    return existsSync(join(own, 'node_modules/sherpa-onnx-node/package.json')) ? own : undefined;
  },
  versionArguments: () => undefined,
  settings: ownProgram,
};

/** Serves the model in a process of this program. */
function ownProgram(
  found: string,
  { id, folder, memoryBytes }: LocalModel,
  options: RuntimeOptions,
): RuntimeProgram {
  const { threads, callsMax, contextTokens } = options;
  const dataDir = dirname(dirname(dirname(folder)));
  const settings = JSON.stringify({ dataDir, runtime: found, threads, callsMax, contextTokens });
  return {
    command: [...ownCommand(import.meta.url), 'model-program', id, '{socket}', settings],
    memoryBytes: memoryBytes + ownProgramBytes,
  };
}

function sherpaArchives(): Archive[] {
  const library = sherpaLibraries[thisPlatform];
  if (library === undefined) return [];
  const own = 'db2a7b8b18d950b6e9ca5c1c919afec33fd3dd2bfef1aade0bea5a9fe7a1f0f1';
  const names = { 'sherpa-onnx-node': own, [`sherpa-onnx-${thisPlatform}`]: library };
  return Object.entries(names).map(([name, sha256]) => ({
    ...npmArchive(name, sherpaVersion, sha256),
    into: `node_modules/${name}`,
  }));
}

function npmArchive(name: string, version: string, sha256: string): Archive {
  return { from: `https://registry.npmjs.org/${name}/-/${basename(name)}-${version}.tgz`, sha256 };
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
const llamaVersion = '3.21.1';
/** llama.cpp's library in the archives of node-llama-cpp, with code for each kind of processor. */
const llamaLibraries: Readonly<Record<string, readonly [name: string, sha256: string]>> = {
  'linux-x64': ['linux-x64', '4b5b65a8b2611d8af94349b02d815c0f424a30a0a19aef2be5db25ecfef6730f'],
  'linux-arm64': ['linux-arm64', '2c4271d060429701d27c7b0fd5ba8e83b37d36c427faf97d54d003d5d73b62dd'],
  'darwin-x64': ['mac-x64', '3bcc6b2d6d3618098a36c9c01ae3afff1599f336a826cd54b1a55a73ed2159a7'],
  'darwin-arm64': ['mac-arm64-metal', 'cd11a52fab1935fde5abd221b5ecf8167686b45e386b6a02df49cb9b2814e9d6'],
};
const llamaLibrary = llamaLibraries[thisPlatform];

/** The server of llama.cpp, else its library in a process of this program. */
const llama: Runtime = {
  name: 'llama',
  program: llamaServerName,
  runs: 'chat models in GGUF files',
  licence: 'MIT',
  archives: llamaLibrary
    ? [npmArchive(`@node-llama-cpp/${llamaLibrary[0]}`, llamaVersion, llamaLibrary[1])]
    : [],
  advice:
    'Run `parley runtimes install llama`, install the package llama.cpp of your system, or write the path of llama-server as `programs.llamaServer`.',
  find: ({ folder, path, llamaServer }) => {
    if (llamaServer !== undefined) return findExecutable(llamaServer, path);
    const library = join(folder, 'llama/bins', llamaLibrary?.[0] ?? '', libraryName);
    const server = findExecutable(join(folder, 'llama', llamaServerName), '');
    return server ?? (existsSync(library) ? library : findExecutable(llamaServerName, path));
  },
  versionArguments: (found) => (found.endsWith(libraryName) ? undefined : ['--version']),
  settings: (found, model, options) => {
    // Parley sends a limit with every request.
    const { max_tokens: _, ...defaults } = model.defaults ?? {};
    if (found.endsWith(libraryName))
      return { ...ownProgram(found, model, options), parameters: { set: {}, defaults } };
    return {
      command: [found, ...argumentsFor(model, options)],
      memoryBytes: model.memoryBytes + llamaBytes,
      parameters: { set: options.promptCache ? {} : { cache_prompt: false }, defaults },
    };
  },
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
