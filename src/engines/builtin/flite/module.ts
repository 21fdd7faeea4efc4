import { readFlite } from './wasm-file.ts';

/**
 * Reads flite and compiles it, off the main thread: some 60 ms for 21 MB. The threads share what this returns, so a new one
 * starts without compiling again.
 */
export async function compileFlite(): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await readFlite());
}
