/**
 * Backups of a server at work, one after the other, with old records pruned in between. Each has every request that was
 * acknowledged before it began. Its books are exact, requests continue meanwhile, and a server starts from it.
 *
 *   PARLEY_BACKUPS=50 PARLEY_BACKUP_SEED=7 npm test -- test/slow/backup-under-load.test.ts
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { fileFaults, readBooks } from '../support/books.ts';
import {
  parleyProcess,
  printed,
  printedJson,
  type Serving,
  scratchFolder,
  serve,
} from '../support/command-line.ts';
import { PayingClients } from '../support/paying-clients.ts';
import { Random } from '../support/random.ts';

const backups = Number(process.env['PARLEY_BACKUPS'] ?? 6);
const seed = Number(process.env['PARLEY_BACKUP_SEED'] ?? Date.now() % 2 ** 32);
const pauseMs = { least: 200, most: 1_500 };
const backupMsMax = 60_000;

const folder = scratchFolder();
const dataDir = folder.file('data');
const options = { cwd: folder.path };
const serving: Serving[] = [];
afterAll(async () => {
  await Promise.all(serving.map((server) => server.close()));
  folder.remove();
});

const start = async (...args: string[]) => {
  const server = await serve(['--data-dir', dataDir, ...args], options);
  serving.push(server);
  return server;
};

/** Moves a backup into a separate folder, and checks it there in the state that a server leaves that starts on it. */
async function lookInto(file: string, round: number) {
  const at = folder.file(`restored-${round}`);
  await printed(['restore', file, '--data-dir', at], options);
  expect(fileFaults(at)).toEqual([]);
  const asTaken = readBooks(at);
  const server = await serve(['--data-dir', at], options);
  await server.close();
  const asStarted = readBooks(at);
  expect(asStarted.records.filter(({ state }) => state === 'started')).toEqual([]);
  expect(asStarted.accounts.filter(({ held }) => held !== 0n)).toEqual([]);
  return { asTaken, asStarted };
}

it(`makes ${backups} exact backups of a server at work`, {
  timeout: (backups + 2) * backupMsMax,
}, async () => {
  process.stdout.write(`PARLEY_BACKUP_SEED=${seed}\n`);
  const random = new Random(seed);
  const { baseUrl, kill, ended } = await start('--demo');
  const { apiKey, adminKey } = JSON.parse(readFileSync(join(dataDir, 'first-run.json'), 'utf8'));
  const server = { baseUrl, apiKey, adminKey, carefulKey: apiKey, frugalKey: apiKey };
  const clients = new PayingClients(random);
  const gone = clients.useUntilGone(server);
  mkdirSync(folder.file('backups'));
  let running = 0;
  for (let round = 0; round < backups; round++) {
    await sleep(random.between(pauseMs.least, pauseMs.most));
    const file = folder.file(`backups/${round}.db`);
    const before = clients.answered.map(({ id }) => id);
    // A separate process: in this one it would stop the clients.
    expect((await parleyProcess(['backup', file, '--data-dir', dataDir], options)).code).toBe(0);
    const after = clients.answered.length;
    const { asTaken, asStarted } = await lookInto(file, round);
    const ids = new Set(asTaken.records.filter(({ state }) => state === 'ok').map(({ id }) => id));
    expect(before.filter((id) => !ids.has(id))).toEqual([]);
    expect(asTaken.faults).toEqual([]);
    expect(asStarted.faults).toEqual([]);
    expect(after, 'requests go on while a backup is taken').toBeGreaterThan(before.length);
    running += asTaken.records.filter(({ state }) => state === 'started').length;
  }
  expect(running, 'some backup was taken while requests ran').toBeGreaterThan(0);
  expect(clients.surprises).toEqual([]);

  // The machine is lost, and only the last backup is left.
  kill('SIGKILL');
  await Promise.all([gone, ended]);
  await printed(['restore', folder.file(`backups/${backups - 1}.db`), '--data-dir', dataDir], options);
  const again = await start();
  await clients.finishErrands({ ...server, baseUrl: again.baseUrl });
  expect(readBooks(dataDir).faults).toEqual([]);
  expect(clients.surprises).toEqual([]);
  process.stdout.write(
    `${clients.answered.length} answers, ${running} requests ran while backups were taken\n`,
  );
});

it('prunes while requests continue, and the totals stay', { timeout: 5 * backupMsMax }, async () => {
  const { baseUrl } = serving.at(-1) ?? (await start('--demo'));
  const { apiKey, adminKey } = JSON.parse(readFileSync(join(dataDir, 'first-run.json'), 'utf8'));
  const clients = new PayingClients(new Random(seed));
  const gone = clients.useUntilGone({ baseUrl, apiKey, adminKey, carefulKey: apiKey, frugalKey: apiKey });
  await sleep(2_000);
  const at = ['--data-dir', dataDir];
  let pruned = 0;
  for (let round = 0; round < 5; round++) {
    await sleep(200);
    const { records_removed } = await printedJson<{ records_removed: number }>(
      ['prune', '--keep-days', '0', '--yes', ...at],
      options,
    );
    pruned += records_removed;
    // The backup is verified: the units and debits of pruned records are still accounted for.
    await printed(['backup', folder.file('backups/pruned.db'), '--force', ...at], options);
  }
  await serving.at(-1)?.close();
  await gone;
  const { totals } = await printedJson<{ totals: { requests: number }[] }>(
    ['usage', 'totals', ...at],
    options,
  );
  const left = readBooks(dataDir).records.length;
  expect(pruned).toBeGreaterThan(0);
  expect(totals.reduce((sum, { requests }) => sum + requests, 0)).toBe(left + pruned);
  expect(clients.surprises).toEqual([]);
});
