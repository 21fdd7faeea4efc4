/** When Parley is killed, nothing that it started stays behind, however stubborn. */
import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { printed, type Serving, scratchFolder, serve } from '../support/command-line.ts';
import { processesWith, tinyCommand, tinyModel } from '../support/tiny-program.ts';
import { startRounds, timeout } from './rounds.ts';

/** Unlike that of any other process. */
const sleepSeconds = `1000.${process.pid}`;
/** The program, a child that ignores signals, and a child of that one, which inherits this. */
const family = [
  '/bin/sh',
  '-c',
  `trap '' TERM HUP INT; /bin/sh -c 'sleep ${sleepSeconds}; :' & exec "$@"`,
  'sh',
  ...tinyCommand({ trick: 'stubborn' }),
];

async function askTiny({ baseUrl }: Serving, key: string): Promise<number> {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content: 'hello' }], max_tokens: 1 }),
  });
  await response.arrayBuffer();
  return response.status;
}

it(`leaves no process when it is killed, ${startRounds} times`, { timeout }, async () => {
  const folder = scratchFolder();
  const dataDir = folder.file('data');
  const options = ['--data-dir', dataDir];
  const engine = { kind: 'process', command: family, memoryBytes: 60_000_000 };
  writeFileSync(
    folder.file('parley.yaml'),
    JSON.stringify({ engines: { tiny: engine }, models: [tinyModel('tiny')] }),
  );
  const run = (...args: string[]) => printed([...args, ...options], { cwd: folder.path });
  await run('account', 'create', 'team');
  await run('credits', 'load', 'team', '1', '--reason', 'test');
  const key = (await run('key', 'create', '--account', 'team')).trim();
  const running = () => [...processesWith(folder.path), ...processesWith(sleepSeconds)];
  for (let round = 0; round < startRounds; round++) {
    const serving = await serve(options, { cwd: folder.path });
    expect(await askTiny(serving, key)).toBe(200);
    // Parley, the guard and its watch, the program, its child and grandchild.
    expect(new Set(running()).size).toBe(6);
    await serving.end();
    await expect.poll(running).toEqual([]);
  }
  folder.remove();
});
