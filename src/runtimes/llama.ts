import { join } from 'node:path';
import { findExecutable } from '../files/executable.ts';
import type { LocalModel } from '../models/model-store.ts';
import type { Runtime, RuntimeOptions } from './runtime.ts';

const program = 'llama-server';
const mebibyte = 1024 ** 2;
/** Its code and buffers. The context counts once it is measured. */
const ownBytes = 64 * mebibyte;

/** The server of llama.cpp. */
export const llama: Runtime = {
  name: 'llama',
  program,
  runs: 'chat models in GGUF files',
  licence: 'MIT',
  archives: [],
  advice:
    'Install the package llama.cpp of your system if it has one, write the path of llama-server as `programs.llamaServer`, or run `parley runtimes install llama` with an archive.',
  find: ({ folder, path, llamaServer }) =>
    llamaServer === undefined
      ? (findExecutable(join(folder, 'llama', program), '') ?? findExecutable(program, path))
      : findExecutable(llamaServer, path),
  versionArguments: ['--version'],
  settings: (found, model, options) => ({
    command: [found, ...argumentsFor(model, options)],
    memoryBytes: model.memoryBytes + ownBytes,
    parameters: { set: options.promptCache ? {} : { cache_prompt: false } },
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
