import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** A copy of the sources without the results of set-up. Its packages are those of this clone. */
export interface BareClone {
  readonly path: string;
  file(name: string): string;
  remove(): void;
}

export function bareClone(): BareClone {
  const path = mkdtempSync(join(tmpdir(), 'parley-bare-'));
  for (const name of ['src', 'gen', 'package.json']) cpSync(name, join(path, name), { recursive: true });
  symlinkSync(resolve('node_modules'), join(path, 'node_modules'));
  return { path, file: (name) => join(path, name), remove: () => rmSync(path, { recursive: true }) };
}
