/** The program is killed at random moments under load, and restarted on its data folder. */
import { setTimeout as sleep } from 'node:timers/promises';
import { scratchFolder, until } from '../support/command-line.ts';
import { PayingServer } from '../support/kept-promises.ts';
import { PayingClients } from '../support/paying-clients.ts';
import type { Scenario } from './scenario.ts';

const kills = 8;
/** The highest number of answers before a kill. */
const answersMax = 25;

export const sqliteKill: Scenario = {
  async play(round) {
    const { random } = round;
    const server = new PayingServer(scratchFolder());
    round.defer(() => server.end());
    const clients = new PayingClients(random);
    const keys = await server.firstStart();
    for (let kill = 0; kill < kills; kill++) {
      const { baseUrl, kill: end, ended } = server.serving ?? (await server.start());
      const gone = clients.useUntilGone({ ...keys, baseUrl });
      const enough = clients.answered.length + random.below(answersMax);
      await until(() => clients.answered.length >= enough || clients.surprises.length > 0);
      await sleep(random.below(50));
      end('SIGKILL');
      round.kills++;
      await Promise.all([gone, ended]);
      await server.start();
      server.check(clients);
    }
    await clients.finishErrands({ ...keys, baseUrl: server.serving?.baseUrl ?? '' });
    const { records } = server.check(clients);
    if (clients.open('load') + clients.open('careful') > 0) throw new Error('errands are not answered');
    const of = (state: string) => records.filter((record) => record.state === state).length;
    if (of('interrupted') === 0) throw new Error('no kill has met a request');
    return `${clients.answered.length} answers, ${of('interrupted')} interrupted, ${of('replayed')} replayed, ${clients.overBudget} over a budget`;
  },
};
