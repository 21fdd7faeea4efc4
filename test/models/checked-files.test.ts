import { cpSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkFiles } from '../../src/models/checked-files.ts';
import { ModelStore } from '../../src/models/model-store.ts';
import { scratchFolder } from '../support/command-line.ts';
import { storeModel } from '../support/local-models.ts';

const content = Buffer.alloc(30_000_000, 'weights');
let folder: ReturnType<typeof scratchFolder>;
let store: ModelStore;
beforeEach(() => {
  folder = scratchFolder();
  storeModel(folder.file('data'), 'small', content);
  store = new ModelStore(folder.file('data'));
});
afterEach(() => folder.remove());

/** Bytes that this process has read so far. */
const bytesRead = () => Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
const bytesOf = async (work: () => Promise<void>) => {
  const before = bytesRead();
  await work();
  return bytesRead() - before;
};

describe('the files of a model', () => {
  it('are read once, and again when they were copied', async () => {
    expect(await bytesOf(() => checkFiles(store, 'small'))).toBeGreaterThan(content.length);
    expect(await bytesOf(() => checkFiles(store, 'small'))).toBeLessThan(content.length / 10);
    cpSync(folder.file('data'), folder.file('copy'), { recursive: true, preserveTimestamps: true });
    const copy = new ModelStore(folder.file('copy'));
    expect(await bytesOf(() => checkFiles(copy, 'small'))).toBeGreaterThan(content.length);
    expect(await bytesOf(() => checkFiles(copy, 'small'))).toBeLessThan(content.length / 10);
  });

  it('are read once for starts at the same time', async () => {
    const both = async () => void (await Promise.all([1, 2].map(() => checkFiles(store, 'small'))));
    expect(await bytesOf(both)).toBeLessThan(content.length * 1.5);
  });

  it('are read no further once the server stops', async () => {
    const stop = new AbortController();
    const checking = checkFiles(store, 'small', stop.signal);
    stop.abort();
    await expect(checking).rejects.toThrow('aborted');
    await checkFiles(store, 'small');
  });

  it('are accepted on a disk that takes no mark', async () => {
    rmSync(join(store.root, 'checked'), { recursive: true, force: true });
    writeFileSync(join(store.root, 'checked'), '');
    for (const _ of [1, 2]) {
      expect(await bytesOf(() => checkFiles(store, 'small'))).toBeGreaterThan(content.length);
    }
  });

  it('are refused with another content of the same size and time', async () => {
    await checkFiles(store, 'small');
    const path = join(store.path('small'), 'model.gguf');
    const { atime, mtime } = statSync(path);
    const changed = Buffer.from(content);
    changed[5_000] = 0;
    writeFileSync(path, changed);
    utimesSync(path, atime, mtime);
    for (const _ of [1, 2]) {
      await expect(checkFiles(store, 'small')).rejects.toThrow(
        'model.gguf of the model small has another content than its manifest says.',
      );
    }
    writeFileSync(path, content);
    await checkFiles(store, 'small');
  });
});
