import { compareAll, loadAt, warmUp } from '../harness/levels.ts';
import { httpLoad } from '../harness/needs.ts';
import { type Group, type Setting, threadsOf } from '../harness/result.ts';
import { type ChatServer, chatContender } from './chat-call.ts';
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
  needs: httpLoad,
  async run(setting) {
    return withChatServers({ parley: startParley }, ({ parley }) => measure(parley, setting));
  },
};

async function measure(parley: ChatServer, setting: Setting) {
  const limited = { ...parley, key: parley.limitedKey ?? '' };
  const contenders = {
    'without limits': await chatContender(parley, warmUpCalls),
    'with every limit': await chatContender(limited, warmUpCalls),
  };
  await warmUp(contenders, setting);
  const slices = await loadAt(64, contenders, setting);
  const { 'with every limit': ours, 'without limits': theirs } = slices;
  const what = { name: 'plain, 64 connections', who: 'Parley with every limit', yardstick: 'without limits' };
  const { cpu, throughput } = compareAll(what, { ours, theirs });
  const threads = threadsOf('plain', slices);
  return { comparisons: [{ ...cpu, aim: 'limitsCpu' as const }, throughput], facts: [], threads, notes: [] };
}
