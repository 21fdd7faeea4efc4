import { setTimeout as sleep } from 'node:timers/promises';
import { drive } from '../harness/drive.ts';
import type { Fact, Group, Setting } from '../harness/result.ts';
import { type ChatServer, openChatClient } from './chat-call.ts';
import { type StartServer, startBareRelay, startParley, withChatServers } from './chat-servers.ts';

/** Each stream lasts longer than it takes to begin them all, so all are open at once. */
const beginEveryMs = 2;
const settleMs = 6_000;

export const streamMemory: Group = {
  name: 'stream-memory',
  title: 'Memory of 1,000 streams at once',
  method:
    'Resident memory of a server that has answered 2,000 plain requests and 200 streams: six seconds later, while 1,000 ' +
    'slow streams are open, and six seconds after the last has ended. The bare relay likewise, for context.',
  async run(setting) {
    const parley = await measureServer('Parley', startParley, setting);
    const relay = await measureServer('bare relay', startBareRelay, setting);
    const { before, during, after } = parley;
    const compared = { yardstick: 'itself before', unit: 'MiB', theirs: [before] };
    return {
      comparisons: [
        { ...compared, name: 'after the streams', ours: [after], aim: 'streamMemory' as const },
        { ...compared, name: 'while they are open', ours: [during] },
      ],
      facts: [parley, relay].flatMap(factsOf),
      notes: [],
    };
  },
};

interface Memory {
  readonly name: string;
  readonly before: number;
  readonly during: number;
  readonly after: number;
  readonly open: number;
}

async function measureServer(name: string, start: StartServer, setting: Setting): Promise<Memory> {
  setting.say(name);
  return { name, ...(await withChatServers({ server: start }, ({ server }) => memoryOf(server, setting))) };
}

async function memoryOf(server: ChatServer, { short }: Setting): Promise<Omit<Memory, 'name'>> {
  const streams = short ? 20 : 1_000;
  const shape = { pieces: 2, everyMs: short ? 100 : 1_500 };
  await warmUp(server, short);
  const before = server.rssMiB();
  const client = openChatClient(server, streams, shape);
  let ended = 0;
  const all = Array.from({ length: streams }, async (_, index) => {
    await sleep(index * beginEveryMs);
    await client.call(index);
    ended++;
  });
  const allEnded = Promise.all(all);
  await Promise.race([allEnded, sleep(streams * beginEveryMs + shape.everyMs)]);
  const [during, open] = [server.rssMiB(), streams - ended];
  await allEnded;
  await client.close();
  await sleep(short ? 0 : settleMs);
  return { before, during, after: server.rssMiB(), open };
}

async function warmUp(server: ChatServer, short: boolean): Promise<void> {
  const [plain, streamed] = [openChatClient(server, 16), openChatClient(server, 16, { pieces: 10 })];
  const load = { atOnce: 16, forMs: 0 };
  for (let sent = 0; sent < (short ? 16 : 2_000); sent += 16) await drive(server, plain.call, load);
  for (let sent = 0; sent < (short ? 16 : 200); sent += 16) await drive(server, streamed.call, load);
  await Promise.all([plain.close(), streamed.close()]);
  await sleep(short ? 0 : settleMs);
}

function factsOf({ name, before, during, after, open }: Memory): Fact[] {
  const fact = (what: string, value: number, unit = 'MiB') => ({
    name: `${name}, ${what}`,
    unit,
    values: [value],
  });
  return [
    fact('before', before),
    fact('during', during),
    fact('after', after),
    fact('open at once', open, 'streams'),
  ];
}
