/** Plays docs/local-programs.md: its program, its configuration and its commands. */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { readPage } from '../../clients/page.ts';
import { parley, printed, scratchFolder, serve } from '../../support/command-line.ts';

const page = readPage('../local-programs');
/** The arguments of a command of the page, which has no other quotes than around its last one. */
const argumentsOf = (command: string) => {
  const [, plain = '', quoted] = /^parley ([^']*?)\s*(?:'(.*)')?$/.exec(page.command(command)) ?? [];
  return [...plain.split(' '), ...(quoted === undefined ? [] : [quoted])];
};

it('starts, serves and shows the program of the page', async () => {
  const folder = scratchFolder();
  for (const file of ['hello-server.mjs', 'parley.yaml']) writeFileSync(folder.file(file), page.file(file));
  // The page has the name of the program, which may be another Node than that of the tests.
  const [bin] = process.execPath.split(/\/node$/);
  const options = { cwd: folder.path, env: { PATH: `${bin}:${process.env['PATH']}` } };

  const checked = await parley(argumentsOf('check'), options);
  expect(checked.stdout + checked.stderr).toMatch(/engine hello/);
  expect(checked.stdout).toContain('node can be executed.');

  const [command, ...flags] = argumentsOf('serve');
  expect(command).toBe('serve');
  const serving = await serve(flags, options);
  expect(await printed(argumentsOf('engines'), options)).toMatch(/^hello +process +stopped/m);
  expect(await printed(argumentsOf('chat'), options)).toContain('Hello there.');
  expect(await printed(argumentsOf('engines'), options)).toMatch(/^hello +process +(ready|busy) +0 +0/m);
  await serving.close();
  folder.remove();
});

it('shows a valid configuration for llama-server', () => {
  const folder = scratchFolder();
  const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(readFileSync('docs/local-programs.md', 'utf8')) ?? [];
  writeFileSync(folder.file('parley.yaml'), yaml);
  const { engines } = loadConfig({ env: {}, file: folder.file('parley.yaml') });
  expect(engines['llama']).toMatchObject({ kind: 'process', memoryBytes: 1_500_000_000 });
  folder.remove();
});
