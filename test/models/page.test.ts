/** Plays docs/local-models.md: its commands and its manifest. */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { readManifest } from '../../src/models/manifest.ts';
import { ModelStore } from '../../src/models/model-store.ts';
import { readPage } from '../clients/page.ts';
import { type Folder, parley, scratchFolder } from '../support/command-line.ts';
import { tinyGguf } from '../support/tiny-gguf.ts';
import { tinyVoice } from '../support/tiny-onnx.ts';

const page = readPage('../local-models');
const run = (folder: Folder, command: string) =>
  parley(page.command(command).split(' ').slice(1), { cwd: folder.path });

it('imports, lists, verifies and removes models', async () => {
  const folder = scratchFolder();
  writeFileSync(folder.file('tiny.gguf'), tinyGguf(1));
  mkdirSync(folder.file('voice'));
  writeFileSync(folder.file('voice/model.onnx'), tinyVoice());
  writeFileSync(folder.file('voice/tokens.txt'), '');
  for (const command of ['import', 'folder']) expect((await run(folder, command)).code).toBe(0);
  expect((await run(folder, 'list')).stdout).toMatch(
    /^tiny +chat +llama .* present\nvoice +speech +sherpa .* present$/m,
  );
  expect((await run(folder, 'verify')).stderr).toBe(
    'tiny: all files are right.\nvoice: all files are right.\n',
  );
  expect((await run(folder, 'rm')).stderr).toBe('The local model tiny is removed.\n');
  folder.remove();
});

it('has a manifest that can be pulled', async () => {
  const folder = scratchFolder();
  writeFileSync(folder.file('tiny.json'), page.file('tiny.json'));
  const manifest = readManifest(folder.file('tiny.json'));
  const bytes = Buffer.from('GGUF and more');
  writeFileSync(folder.file('tiny.gguf'), bytes);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const urls = [pathToFileURL(folder.file('tiny.gguf')).href];
  const files = manifest.files.map((file) => ({ ...file, sha256, bytes: bytes.length, urls }));
  writeFileSync(folder.file('tiny.json'), JSON.stringify({ ...manifest, files }));
  expect((await parley(['models', 'pull', './tiny.json'], { cwd: folder.path })).code).toBe(0);
  const { contextTokens, memoryBytes } = new ModelStore(join(folder.path, 'data')).resolve('tiny');
  expect([contextTokens, memoryBytes]).toEqual([8_192, 700_000_000]);
  folder.remove();
});
