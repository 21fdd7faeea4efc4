import { llama } from './llama.ts';
import type { Runtime } from './runtime.ts';
import { sherpa } from './sherpa.ts';

/** Every runtime, by its name in manifests and commands. */
export const runtimes: ReadonlyMap<string, Runtime> = new Map(
  [llama, sherpa].map((runtime) => [runtime.name, runtime]),
);
