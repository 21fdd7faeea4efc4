import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** A new folder, which is removed after all tests of its file or group. */
export function scratchPath(name: string): string {
  const path = mkdtempSync(join(tmpdir(), `parley-${name}-`));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
