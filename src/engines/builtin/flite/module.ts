import { type Constants, constantsOf } from './constants.ts';
import { readFlite } from './wasm-file.ts';

/** What a thread needs to run flite; it can be sent to one. */
export interface FliteModule {
  readonly module: WebAssembly.Module;
  readonly constants: Constants;
}

/**
 * Reads flite and compiles it, off the main thread: some 60 ms for 21 MB. The threads share what this returns, so a new one
 * starts without compiling again.
 */
export async function compileFlite(): Promise<FliteModule> {
  const wasm = await readFlite();
  return { module: await WebAssembly.compile(wasm), constants: constantsOf(wasm) };
}
