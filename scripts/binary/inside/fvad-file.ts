/** Replaces the file of libfvad in the executable. */
import { getRawAsset } from 'node:sea';

export async function readFvad(): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(getRawAsset('fvad.wasm'));
}
