/**
 * The program as a process, killed at random moments under load, and started again on what is left: what was acknowledged
 * is kept, nothing is charged twice, and nothing stays held. The same while writes or syncs of the disk fail.
 *
 *   PARLEY_KILL_ROUNDS=50 PARLEY_KILL_SEED=7 npm test -- test/slow/kill.test.ts
 */
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Folder, type Serving, scratchFolder } from '../support/command-line.ts';
import { PayingServer } from '../support/kept-promises.ts';
import { PayingClients } from '../support/paying-clients.ts';
import { Random } from '../support/random.ts';

const rounds = Number(process.env['PARLEY_KILL_ROUNDS'] ?? 10);
const seed = Number(process.env['PARLEY_KILL_SEED'] ?? Date.now() % 2 ** 32);
const lifeMs = { least: 100, most: 4_000 };
const roundMsMax = 60_000;

let folder: Folder;
let server: PayingServer;
beforeEach(() => {
  folder = scratchFolder();
  server = new PayingServer(folder);
});
afterEach(() => server.close());

const timeout = (rounds + 2) * roundMsMax;
it(`keeps its word through ${rounds} kills`, { timeout }, async () => {
  process.stdout.write(`PARLEY_KILL_SEED=${seed}\n`);
  const random = new Random(seed);
  const clients = new PayingClients(random);
  const keys = await server.firstStart();
  for (let round = 0; round < rounds; round++) {
    const { baseUrl, kill, ended } = server.serving ?? (await server.start());
    const gone = clients.useUntilGone({ ...keys, baseUrl });
    await sleep(random.between(lifeMs.least, lifeMs.most));
    kill('SIGKILL');
    await Promise.all([gone, ended]);
    await server.start();
    server.check(clients);
  }
  await clients.finishErrands({ ...keys, baseUrl: server.serving?.baseUrl ?? '' });
  const books = server.check(clients);
  expect([clients.open('load'), clients.open('careful')]).toEqual([0, 0]);
  const of = (state: string) => books.records.filter((record) => record.state === state).length;
  const summary = `${clients.answered.length} answers, ${of('interrupted')} interrupted, ${of('replayed')} replayed, ${clients.overBudget} over a budget`;
  process.stdout.write(`${summary}\n`);
  expect(of('interrupted')).toBeGreaterThan(0);
  expect(clients.overBudget).toBeGreaterThan(0);
});

const compiler = spawnSync('cc', ['--version']).status === 0 ? '' : ' (skipped: there is no C compiler)';

describe.skipIf(compiler !== '')(`while the disk fails${compiler}`, () => {
  const faultRounds = Math.ceil(rounds / 3);
  const compiled = () => {
    const library = folder.file('disk-faults.so');
    const source = new URL('../support/disk-faults.c', import.meta.url).pathname;
    const { status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source]);
    expect([status, String(stderr)]).toEqual([0, '']);
    return { LD_PRELOAD: library, DISK_FAULTS_WHILE: folder.file('faults') };
  };

  /** Resolves when a count has grown by a few. Rejects when the server ends before. */
  const grows = async (count: () => number, { ended, stderr }: Serving) => {
    const before = count();
    const grown = expect.poll(count, { timeout: roundMsMax }).toBeGreaterThan(before + 5);
    const gone = ended.then(() => Promise.reject(new Error(`The server ended: ${stderr().slice(-2000)}`)));
    await Promise.race([grown, gone]);
  };

  it(`keeps its word through ${faultRounds} times of failed writes`, { timeout }, async () => {
    const env = { ...compiled(), DISK_FAULTS: 'write' };
    const random = new Random(seed);
    const clients = new PayingClients(random, (status) => status === 503);
    const keys = await server.firstStart();
    await server.serving?.close();
    for (let round = 0; round < faultRounds; round++) {
      const serving = await server.start([], env);
      const { baseUrl, kill, ended } = serving;
      // A stream whose end cannot be written loses its connection: the clients go on all the same.
      let isUsed = true;
      await clients.finishErrands({ ...keys, baseUrl });
      const gone = clients.useWhile({ ...keys, baseUrl }, () => isUsed);
      await grows(() => clients.answered.length, serving);
      writeFileSync(folder.file('faults'), '');
      await grows(() => clients.refusals, serving);
      rmSync(folder.file('faults'));
      // Until the writes of these requests have been made up for, books are not in order.
      await expect
        .poll(async () => (await fetch(new URL('/readyz', baseUrl))).status, { timeout: 60_000 })
        .toBe(200);
      isUsed = false;
      kill('SIGKILL');
      await Promise.all([gone, ended]);
      await (await server.start()).close();
      server.check(clients);
    }
  });

  it('ends by itself when a sync fails, and keeps its word', { timeout }, async () => {
    const env = { ...compiled(), DISK_FAULTS: 'sync' };
    const random = new Random(seed);
    const clients = new PayingClients(random, (status) => status === 503);
    const keys = await server.firstStart();
    await server.serving?.close();
    const serving = await server.start([], env);
    const { baseUrl, ended, stderr } = serving;
    const gone = clients.useUntilGone({ ...keys, baseUrl });
    await grows(() => clients.answered.length, serving);
    writeFileSync(folder.file('faults'), '');
    expect(await ended).toMatchObject({ code: 1 });
    await gone;
    expect(stderr()).toContain('The disk could not be synced.');
    rmSync(folder.file('faults'));
    await server.start();
    server.check(clients);
  });
});
