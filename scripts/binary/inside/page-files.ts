/** Replaces src/app/page-files.ts in the executable, which contains the files. They are read from it on demand. */
import { getAssetKeys, getRawAsset } from 'node:sea';

const folder = 'console/';

export function readPageFiles(): ReadonlyMap<string, Buffer> {
  const names = getAssetKeys().filter((name) => name.startsWith(folder));
  return new Map(names.map((name) => [name.slice(folder.length), Buffer.from(getRawAsset(name))]));
}
