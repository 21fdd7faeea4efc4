/** Commands that only print what they know start fast: they load no package for the work of others. */
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

const main = new URL('../../src/main.ts', import.meta.url).pathname;
/** Prints the modules that a program has loaded. */
const hook = `
  import { registerHooks } from 'node:module';
  const urls = [];
  registerHooks({ load: (url, context, next) => { urls.push(url); return next(url, context); } });
  process.on('exit', () => process.stderr.write(urls.join(' ')));`;

it.each([
  [['--version'], []],
  [['--help'], ['commander']],
  [['key', 'create', '--help'], ['commander']],
  [['completion', 'bash'], ['commander']],
])('parley %j loads at most the parser of command lines', (args, expected) => {
  const imported = `data:text/javascript,${encodeURIComponent(hook)}`;
  const { status, stderr } = spawnSync(process.execPath, ['--import', imported, main, ...args], {
    encoding: 'utf8',
  });
  const packages = [...stderr.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)/g)].map(([, name]) => name);
  expect([status, new Set(packages)]).toEqual([0, new Set(expected)]);
});
