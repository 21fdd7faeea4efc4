import { compareAll, driveInTurn, warmUp } from '../harness/levels.ts';
import { type Group, type Setting, threadsOf } from '../harness/result.ts';
import { type ChatServer, chatContender, checkChat } from './chat-call.ts';
import { startParley, withChatServers } from './chat-servers.ts';

/** V8 compiles during the first 20,000 calls, and again when limits come. */
const warmUpCalls = 30_000;

export const limits: Group = {
  name: 'limits',
  title: 'Limits of keys and accounts',
  method:
    'A plain chat, 64 connections, with a key and an account that have every limit, against a key and an account without any, in the same ' +
    'process in turn.',
  charts: [],
  async run(setting) {
    return withChatServers({ parley: startParley }, async ({ parley }) => {
      await checkChat(parley);
      return measure(parley, setting);
    });
  },
};

async function measure(parley: ChatServer, setting: Setting) {
  const limited = { ...parley, key: parley.limitedKey ?? '' };
  const contenders = {
    'without limits': chatContender(parley, warmUpCalls),
    'with every limit': chatContender(limited, warmUpCalls),
  };
  await warmUp(contenders, setting);
  const turns = setting.short ? { rounds: 1 } : { rounds: setting.quick ? 20 : 60, warmUps: 2 };
  const load = { connections: 64, atOnce: 64, forMs: setting.short ? 50 : 150 };
  const slices = await driveInTurn(contenders, { ...load, turns });
  const { 'with every limit': ours, 'without limits': theirs } = slices;
  const what = { name: 'plain, 64 connections', who: 'Parley with every limit', yardstick: 'without limits' };
  const { cpu, throughput } = compareAll(what, { ours, theirs });
  const threads = threadsOf('plain', slices);
  return { comparisons: [{ ...cpu, aim: 'limitsCpu' as const }, throughput], facts: [], threads, notes: [] };
}
