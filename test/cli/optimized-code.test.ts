/** `parley serve` starts without V8's optimizing compilers, and uses them once it takes requests. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { scratchFolder, until } from '../support/command-line.ts';

const main = new URL('../../src/main.ts', import.meta.url).pathname;

it('optimizes the code of requests once it listens', async () => {
  const folder = scratchFolder();
  const args = ['--trace-opt', main, 'serve', '--port', '0', '--data-dir', folder.file('data')];
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(async () => {
    const ended = once(server, 'exit');
    if (server.kill()) await ended;
    folder.remove();
  });
  let trace = '';
  server.stdout.on('data', (chunk) => {
    trace += chunk;
  });
  const file = folder.file('data/server.json');
  await until(() => existsSync(file));
  const { baseUrl } = JSON.parse(readFileSync(file, 'utf8'));
  // Only requests call this function.
  while (!/completed compiling .*<JSFunction pathOf /.test(trace))
    await (await fetch(`${baseUrl}/models`)).text();
});

it("restores V8's own limit", () => {
  const program = readFileSync(new URL('../../src/cli/program.ts', import.meta.url), 'utf8');
  const [, restored = ''] = /optimizedBytesMax = ([\d_]+);/.exec(program) ?? [];
  const options = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
  const [, limit] = /--max-optimized-bytecode-size=(\d+)/.exec(options) ?? [];
  expect(restored.replace('_', '')).toBe(limit);
});
