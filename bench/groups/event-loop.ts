import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { inFolder } from '../harness/folder.ts';
import { h2load, type LoadRequest } from '../harness/h2load.ts';
import { httpLoad } from '../harness/needs.ts';
import type { Fact, Group, GroupResult, Setting } from '../harness/result.ts';
import { quantile } from '../harness/statistics.ts';
import { compile } from '../servers/compile.ts';
import { type ChatServer, chatRequest } from './chat-call.ts';
import { startParleyWith, withChatServers } from './chat-servers.ts';

const syncMs = 50;
const chatsAtOnce = 16;
const probeEveryMs = 4;

export const eventLoop: Group = {
  name: 'event-loop',
  title: 'The event loop, while the disk is slow',
  method:
    `While ${chatsAtOnce} clients chat and each sync of the database takes ${syncMs} ms longer, another client asks every ` +
    `${probeEveryMs} ms for a path that does not exist, without a key: an answer that needs no store.`,
  charts: [],
  needs: httpLoad,
  run: (setting) =>
    inFolder((folder) =>
      measure(compile('slow-sync', folder, '-shared', '-fPIC'), join(folder, 'slow'), setting),
    ),
};

async function measure(library: string, slow: string, setting: Setting): Promise<GroupResult> {
  const { short, say } = setting;
  const env = { LD_PRELOAD: library, SLOW_SYNC_MS: `${syncMs}`, SLOW_SYNC_WHILE: slow };
  return withChatServers({ parley: startParleyWith(env) }, async ({ parley }) => {
    say('warm-up');
    const chat = await chatRequest(parley);
    await h2load(chat, { connections: chatsAtOnce, until: { calls: short ? 32 : 10_000 } });
    await probe(parley, short ? 32 : 2_000);
    say('syncs as they are');
    const asTheyAre = await probeWhileChatting(parley, chat, setting);
    say(`syncs of ${syncMs} ms`);
    writeFileSync(slow, '');
    const slowed = await probeWhileChatting(parley, chat, setting);
    const facts: Fact[] = [
      { name: `p99, each sync takes ${syncMs} ms`, unit: 'ms', values: slowed.p99Ms, aim: 'loopHeld' },
      { name: 'p99, syncs as they are', unit: 'ms', values: asTheyAre.p99Ms },
      { name: `chats, each sync takes ${syncMs} ms`, unit: 'requests/s', values: slowed.perSecond },
    ];
    return { comparisons: [], facts, notes: [] };
  });
}

async function probeWhileChatting(parley: ChatServer, chat: LoadRequest, { short }: Setting) {
  const p99Ms: number[] = [];
  const perSecond: number[] = [];
  for (let round = 0; round < (short ? 1 : 5); round++) {
    const probes = short ? 40 : 500;
    const ms = probes * probeEveryMs;
    const load = { connections: chatsAtOnce, until: { ms } };
    const [chats, times] = await Promise.all([h2load(chat, load), probe(parley, probes)]);
    p99Ms.push(quantile(times, 0.99));
    perSecond.push((chats.length * 1000) / ms);
  }
  return { p99Ms, perSecond };
}

/** Sends requests at even times, also if answers are late. */
async function probe({ origin }: ChatServer, count: number): Promise<number[]> {
  const pool = new Pool(origin, { connections: 64 });
  const ask = async (n: number) => {
    await sleep(n * probeEveryMs);
    const askedAt = performance.now();
    const { statusCode, body } = await pool.request({ method: 'GET', path: '/api/v1/nothing' });
    await body.dump();
    if (statusCode !== 404) throw new Error(`a wrong path was answered with ${statusCode}`);
    return performance.now() - askedAt;
  };
  const times = await Promise.all(Array.from({ length: count }, (_, n) => ask(n)));
  await pool.close();
  return times;
}
