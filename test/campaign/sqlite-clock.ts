/** The clock is set forward and back, also over the end of a month, while clients pay. Now and then the program is killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { scratchFolder, until } from '../support/command-line.ts';
import { PayingServer } from '../support/kept-promises.ts';
import { PayingClients } from '../support/paying-clients.ts';
import { missingFaketime, SteppedClock } from './clock-steps.ts';
import type { Scenario } from './scenario.ts';

const steps = 8;
const answersEach = 15;
/** The program reads the file of the clock each second. */
const noticedMs = 1_100;

export const sqliteClock: Scenario = {
  missing: missingFaketime,
  async play(round) {
    const { random } = round;
    const folder = scratchFolder();
    const server = new PayingServer(folder);
    round.defer(() => server.end());
    const clock = new SteppedClock(folder, round);
    const clients = new PayingClients(random);
    const keys = await server.firstStart(clock.env);
    let gone: Promise<void> | undefined;
    for (let step = 0; step < steps; step++) {
      const { baseUrl, kill, ended } = server.serving ?? (await server.start([], clock.env));
      gone ??= clients.useUntilGone({ ...keys, baseUrl });
      const enough = clients.answered.length + random.below(answersEach);
      await until(() => clients.answered.length >= enough || clients.surprises.length > 0);
      clock.step();
      await sleep(noticedMs);
      if (!random.onceIn(3) && step < steps - 1) continue;
      kill('SIGKILL');
      round.kills++;
      await Promise.all([gone, ended]);
      gone = undefined;
      await server.start([], clock.env);
      server.check(clients);
    }
    await clients.finishErrands({ ...keys, baseUrl: server.serving?.baseUrl ?? '' });
    server.check(clients);
    return `${clients.answered.length} answers, ${steps} steps`;
  },
};
