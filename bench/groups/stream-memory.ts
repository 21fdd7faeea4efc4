import { setTimeout as sleep } from 'node:timers/promises';
import { h2load } from '../harness/h2load.ts';
import { httpLoad } from '../harness/needs.ts';
import type { Group, Setting } from '../harness/result.ts';
import { type ChatServer, chatRequest, type StreamShape } from './chat-call.ts';
import { startParley, withChatServers } from './chat-servers.ts';

/** Each stream lasts longer than it takes to begin them all, so all are open at once. */
const beginEveryMs = 2;
/** The server has collected its heap by then. */
const settleMs = 65_000;

export const streamMemory: Group = {
  name: 'stream-memory',
  title: 'Memory of 1,000 streams at once',
  method:
    'Resident memory of a server that has answered 2,000 plain requests and 200 streams: a minute later, while 1,000 ' +
    'slow streams are open, and a minute after the last has ended.',
  charts: [],
  needs: httpLoad,
  async run(setting) {
    const parley = await withChatServers({ server: startParley }, ({ server }) => memoryOf(server, setting));
    const compared = { yardstick: 'itself before', unit: 'MiB', theirs: [parley.before] };
    return {
      comparisons: [
        { ...compared, name: 'after the streams', ours: [parley.after], aim: 'streamMemory' },
        { ...compared, name: 'while they are open', ours: [parley.during] },
      ],
      facts: [{ name: 'open at once', unit: 'streams', values: [parley.open] }],
      notes: [],
    };
  },
};

async function memoryOf(server: ChatServer, { short, quick }: Setting) {
  const settle = () => sleep(short ? 0 : settleMs / (quick ? 3 : 1));
  await sendChats(server, short ? 16 : 2_000);
  await sendChats(server, short ? 16 : 200, { pieces: 10 });
  await settle();
  const before = server.rssMiB();
  const streams = short ? 20 : 1_000;
  const shape = { pieces: 2, everyMs: short ? 100 : 1_500 };
  const request = await chatRequest(server, shape);
  const samples: { readonly atMs: number; readonly MiB: number }[] = [];
  const timer = setInterval(() => samples.push({ atMs: Date.now(), MiB: server.rssMiB() }), 20);
  const connectEveryMs = beginEveryMs;
  const calls = await h2load(request, { connections: streams, connectEveryMs, until: { calls: streams } });
  clearInterval(timer);
  const openAt = (atMs: number) =>
    calls.filter(({ startedAtMs, ms }) => startedAtMs < atMs && startedAtMs + ms > atMs).length;
  const open = Math.max(...samples.map(({ atMs }) => openAt(atMs)));
  const during = Math.max(...samples.filter(({ atMs }) => openAt(atMs) === open).map(({ MiB }) => MiB));
  await settle();
  return { before, during, after: server.rssMiB(), open };
}

async function sendChats(server: ChatServer, calls: number, stream?: StreamShape): Promise<void> {
  await h2load(await chatRequest(server, stream), { connections: 16, until: { calls } });
}
