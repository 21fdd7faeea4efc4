import { setTimeout as sleep } from 'node:timers/promises';
import { send } from '../harness/drive.ts';
import type { Group, Setting } from '../harness/result.ts';
import { type ChatServer, openChatClient, type StreamShape } from './chat-call.ts';
import { startBareRelay, startParley, withChatServers } from './chat-servers.ts';

/** Each stream lasts longer than it takes to begin them all, so all are open at once. */
const beginEveryMs = 2;
/** The server has collected its heap by then. */
const settleMs = 65_000;

export const streamMemory: Group = {
  name: 'stream-memory',
  title: 'Memory of 1,000 streams at once',
  method:
    'Resident memory of a server that has answered 2,000 plain requests and 200 streams: six seconds later, while 1,000 ' +
    'slow streams are open, and six seconds after the last has ended. The bare relay likewise, for context.',
  charts: [],
  async run(setting) {
    const measured = async (name: string, start: typeof startParley) => {
      setting.say(name);
      return withChatServers({ server: start }, ({ server }) => memoryOf(server, setting));
    };
    const parley = await measured('Parley', startParley);
    const relay = await measured('bare relay', startBareRelay);
    const compared = { yardstick: 'itself before', unit: 'MiB', theirs: [parley.before] };
    return {
      comparisons: [
        { ...compared, name: 'after the streams', ours: [parley.after], aim: 'streamMemory' },
        { ...compared, name: 'while they are open', ours: [parley.during] },
      ],
      facts: [...factsOf('Parley', parley), ...factsOf('bare relay', relay)],
      notes: [],
    };
  },
};

async function memoryOf(server: ChatServer, { short }: Setting) {
  const settle = () => sleep(short ? 0 : settleMs);
  await sendChats(server, short ? 16 : 2_000);
  await sendChats(server, short ? 16 : 200, { pieces: 10 });
  await settle();
  const before = server.rssMiB();
  const streams = short ? 20 : 1_000;
  const shape = { pieces: 2, everyMs: short ? 100 : 1_500 };
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
  await settle();
  return { before, during, after: server.rssMiB(), open };
}

async function sendChats(server: ChatServer, calls: number, stream?: StreamShape): Promise<void> {
  const client = openChatClient(server, 16, stream);
  await send(client.call, { atOnce: 16, calls });
  await client.close();
}

function factsOf(server: string, { open, ...memory }: Awaited<ReturnType<typeof memoryOf>>) {
  return [
    ...Object.entries(memory).map(([when, MiB]) => ({
      name: `${server}, ${when}`,
      unit: 'MiB',
      values: [MiB],
    })),
    { name: `${server}, open at once`, unit: 'streams', values: [open] },
  ];
}
