/**
 * Backups of a server at work, which is killed during a backup or after it. A server starts from the backup: its books
 * are exact, and it has every request that was answered before the backup began.
 */
import { expect } from 'vitest';
import { parleyProcess, printed, scratchFolder, until } from '../support/command-line.ts';
import { brokenPromises, PayingServer } from '../support/kept-promises.ts';
import { PayingClients } from '../support/paying-clients.ts';
import type { Scenario } from './scenario.ts';

const machines = 3;
const answersEach = 15;

export const sqliteRestore: Scenario = {
  async play(round) {
    const { random } = round;
    const folder = scratchFolder();
    const server = new PayingServer(folder);
    round.defer(() => server.end());
    const keys = await server.firstStart();
    let answers = 0;
    let partial = 0;
    for (let machine = 0; machine < machines; machine++) {
      const clients = new PayingClients(random);
      const { baseUrl, kill, ended } = server.serving ?? (await server.start());
      const gone = clients.useUntilGone({ ...keys, baseUrl });
      await until(() => clients.answered.length > answersEach || clients.surprises.length > 0);
      const before = [...clients.answered];
      const file = folder.file(`backup-${machine}.db`);
      const taken = parleyProcess(['backup', file, '--data-dir', server.dataDir]);
      const isCut = random.onceIn(2);
      if (isCut) await until(() => clients.answered.length > before.length);
      else await taken;
      kill('SIGKILL');
      round.kills++;
      await Promise.all([gone, ended]);
      expect((await taken).code).toBe(0);
      if (isCut) partial++;
      answers += clients.answered.length;
      await printed(['restore', file, '--data-dir', server.dataDir]);
      await server.start();
      const books = server.readExact();
      expect(clients.surprises).toEqual([]);
      expect(brokenPromises(before, books)).toEqual([]);
    }
    return `${answers} answers, ${machines} backups, a kill during ${partial}`;
  },
};
