import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

/** Reads libfvad's WebAssembly: 21 KB. The executable contains it, and replaces this file. */
export function readFvad(): Promise<Uint8Array<ArrayBuffer>> {
  return readFile(createRequire(import.meta.url).resolve('@echogarden/fvad-wasm/fvad.wasm'));
}
