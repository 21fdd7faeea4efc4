import { llama } from './llama.ts';
import type { Runtime } from './runtime.ts';

/** Every runtime, by its name in manifests and commands. */
export const runtimes: ReadonlyMap<string, Runtime> = new Map(
  [llama].map((runtime) => [runtime.name, runtime]),
);
