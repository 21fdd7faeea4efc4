/** The pipes to a recogniser, where something is in their way. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createNamedPipes } from '../src/engines/builtin/pocketsphinx/named-pipes.ts';

describe('named pipes', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'parley-pipes-'));
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });

  it('leave nothing behind', async () => {
    const pipes = await createNamedPipes(folder);
    expect(readdirSync(pipes.folder).sort()).toEqual(['requests', 'responses']);
    await pipes.remove();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('leave nothing behind where they could not be made', async () => {
    vi.stubEnv('PATH', '/nowhere');
    await expect(createNamedPipes(folder)).rejects.toThrow('mkfifo');
    expect(readdirSync(folder)).toEqual([]);
  });
});
