/** A plain chat of nodes on PostgreSQL. */
import { type Contender, compareAll, driveAt, warmUp } from '../harness/levels.ts';
import type { Comparison, Fact, Setting, ThreadCosts } from '../harness/result.ts';
import type { Postgres } from '../servers/postgres.ts';
import { chatContender, checkChat } from './chat-call.ts';
import { startBareRelay, startParleyWith, withChatServers } from './chat-servers.ts';

const name = 'chat plain, 64 connections';
const warmUpCalls = 30_000;

interface Part {
  readonly comparisons: readonly Comparison[];
  readonly facts: readonly Fact[];
  readonly threads: readonly ThreadCosts[];
}

export async function measureChat(server: Postgres, setting: Setting): Promise<Part> {
  const url = await server.create('chat');
  const starts = {
    relay: startBareRelay,
    node: startParleyWith({}, { store: { kind: 'postgres', url } }),
  };
  return withChatServers(starts, async ({ relay, node }) => {
    for (const each of [relay, node]) await checkChat(each);
    const counted = countCalls(chatContender(node, warmUpCalls));
    const contenders = { relay: chatContender(relay, warmUpCalls), node: counted.contender };
    await warmUp(contenders, setting);
    const callsBefore = counted.calls();
    const { result: slices, cpuMs } = await server.cpuMsOf(() => driveAt(64, contenders, setting));
    const postgresUs = (cpuMs * 1000) / (counted.calls() - callsBefore);
    const pair = { ours: slices.node, theirs: slices.relay };
    const { throughput, cpu, p50, p99 } = compareAll({ name, yardstick: 'bare relay' }, pair);
    return {
      comparisons: [{ ...throughput, aim: 'postgresChat' }, cpu, p50, p99],
      facts: [{ name: `${name}: PostgreSQL`, unit: 'µs CPU a request', values: [postgresUs] }],
      threads: [
        { name: `${name}: bare relay`, slices: slices.relay },
        { name: `${name}: node on PostgreSQL`, slices: slices.node },
      ],
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
    return { call, close: () => client.close() };
  };
  return { contender: { ...contender, open }, calls: () => calls };
}
