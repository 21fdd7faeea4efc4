/** Writes fail for a while, as on a full or broken disk: requests are refused, and the missing writes are repeated later. */
import { rmSync, writeFileSync } from 'node:fs';
import { type Serving, until } from '../support/command-line.ts';
import { missingCompiler, prepareFailingDisk } from './failing-disk.ts';
import type { Scenario } from './scenario.ts';

const failures = 3;
const more = 5;

export const sqliteDisk: Scenario = {
  missing: missingCompiler,
  async play(round) {
    const { random } = round;
    const { folder, server, disk, clients, keys } = await prepareFailingDisk(round);
    const whileFile = folder.file('faults');
    for (let n = 0; n < failures; n++) {
      const env = disk.env({ kind: 'write', every: random.between(2, 12), whileFile });
      const serving = await server.start([], env);
      const { baseUrl, kill, ended } = serving;
      let isUsed = true;
      await clients.finishErrands({ ...keys, baseUrl });
      // A stream whose end cannot be written loses its connection. The clients continue.
      const gone = clients.useWhile({ ...keys, baseUrl }, () => isUsed);
      await grows(() => clients.answered.length, serving);
      writeFileSync(whileFile, '');
      await grows(() => clients.refusals, serving);
      rmSync(whileFile);
      // The books are not exact until the missing writes of these requests were repeated.
      await until(async () => (await fetch(new URL('/readyz', baseUrl))).status === 200);
      isUsed = false;
      kill('SIGKILL');
      round.kills++;
      await Promise.all([gone, ended]);
      await (await server.start()).close();
      server.check(clients);
    }
    return `${clients.answered.length} answers, ${clients.refusals} refused`;
  },
};

/** Resolves when a count has grown by a few. Rejects if the server ends first. */
async function grows(count: () => number, { isRunning, stderr }: Serving): Promise<void> {
  const before = count();
  await until(() => !isRunning() || count() > before + more);
  if (!isRunning()) throw new Error(`The server ended: ${stderr().slice(-2000)}`);
}
