/** A plain chat of nodes on PostgreSQL. */
import { type Contender, compareAll, driveAt, warmUp } from '../harness/levels.ts';
import { type Comparison, type Setting, threadsOf } from '../harness/result.ts';
import type { Postgres } from '../servers/postgres.ts';
import { chatContender, checkChat } from './chat-call.ts';
import { startBareRelay, startParleyWith, withChatServers } from './chat-servers.ts';

const name = 'chat plain, 64 connections';
const warmUpCalls = 30_000;

export async function measureChat(server: Postgres, setting: Setting) {
  const url = await server.create('chat');
  const starts = {
    'bare relay': startBareRelay,
    'node on PostgreSQL': startParleyWith({}, { store: { kind: 'postgres', url } }),
  };
  return withChatServers(starts, async ({ 'bare relay': relay, 'node on PostgreSQL': node }) => {
    for (const each of [relay, node]) await checkChat(each);
    const counted = countCalls(chatContender(node, warmUpCalls));
    const contenders = {
      'bare relay': chatContender(relay, warmUpCalls),
      'node on PostgreSQL': counted.contender,
    };
    await warmUp(contenders, setting);
    const callsBefore = counted.calls();
    const { result: slices, cpuMs } = await server.cpuMsOf(() => driveAt(64, contenders, setting));
    const postgresUs = (cpuMs * 1000) / (counted.calls() - callsBefore);
    const pair = { ours: slices['node on PostgreSQL'], theirs: slices['bare relay'] };
    const { throughput, cpu, p50, p99 } = compareAll({ name, yardstick: 'bare relay' }, pair);
    const comparisons: Comparison[] = [{ ...throughput, aim: 'postgresChat' }, cpu, p50, p99];
    return {
      comparisons,
      facts: [{ name: `${name}: PostgreSQL`, unit: 'µs CPU a request', values: [postgresUs] }],
      threads: threadsOf(name, slices),
    };
  });
}

function countCalls(contender: Contender): { readonly contender: Contender; calls(): number } {
  let calls = 0;
  const open = (connections: number) => {
    const client = contender.open(connections);
    const call = (n: number) => {
      calls++;
      return client.call(n);
    };
    return { ...client, call };
  };
  return { contender: { ...contender, open }, calls: () => calls };
}
