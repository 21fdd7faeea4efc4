/** A recogniser and its pipes when files cannot be created or removed. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createNamedPipes } from '../../../../src/engines/builtin/pocketsphinx/named-pipes.ts';
import { startRecogniser } from '../../../../src/engines/builtin/pocketsphinx/recogniser.ts';

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

  it('leave nothing behind if they cannot be created', async () => {
    vi.stubEnv('PATH', '/nowhere');
    await expect(createNamedPipes(folder)).rejects.toThrow('mkfifo');
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('a recogniser', () => {
  it('ends without an error even if its folder cannot be removed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-recogniser-'));
    const scratchDir = join(folder, 'scratch');
    mkdirSync(scratchDir);
    const recogniserPath = join(folder, 'recogniser');
    writeFileSync(recogniserPath, '#!/bin/sh\nsleep 60\n');
    chmodSync(recogniserPath, 0o700);
    const decodeTools = { ffmpegPath: '', prlimitPath: undefined };
    const model = { acousticFolder: '', languageModelPath: '', dictionaryPath: '' };
    const recogniser = await startRecogniser({ decodeTools, recogniserPath, model }, scratchDir);
    rmSync(scratchDir, { recursive: true });
    writeFileSync(scratchDir, 'in the way');
    recogniser.kill();
    await expect(recogniser.ended).resolves.toBeUndefined();
    expect(recogniser.isAlive).toBe(false);
    rmSync(folder, { recursive: true });
  });
});
