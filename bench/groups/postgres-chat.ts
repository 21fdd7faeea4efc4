/** A plain chat of nodes on PostgreSQL. */
import { compareAll, driveAt, type SlicesOf, warmUp } from '../harness/levels.ts';
import type { Comparison, Setting, ThreadCosts } from '../harness/result.ts';
import type { Postgres } from '../servers/postgres.ts';
import { chatContender, checkChat } from './chat-call.ts';
import { startBareRelay, startParleyWith, withChatServers } from './chat-servers.ts';

const name = 'chat plain, 64 connections';
const warmUpCalls = 30_000;

interface Part {
  readonly comparisons: readonly Comparison[];
  readonly threads: readonly ThreadCosts[];
}

export async function measureChat(server: Postgres, setting: Setting): Promise<Part> {
  const url = await server.create('chat');
  const starts = {
    relay: startBareRelay,
    node: startParleyWith({}, { store: { kind: 'postgres', url } }),
  };
  const slices = await withChatServers(starts, async ({ relay, node }) => {
    for (const each of [relay, node]) await checkChat(each);
    const contenders = {
      relay: chatContender(relay, warmUpCalls),
      node: chatContender(node, warmUpCalls),
    };
    await warmUp(contenders, setting);
    return driveAt(64, contenders, setting);
  });
  const pair = { ours: slices.node, theirs: slices.relay };
  const { throughput, cpu, p50, p99 } = compareAll({ name, yardstick: 'bare relay' }, pair);
  return {
    comparisons: [{ ...throughput, aim: 'postgresChat' }, cpu, p50, p99],
    threads: threadsOf(slices),
  };
}

const threadsOf = (slices: SlicesOf<Record<'relay' | 'node', unknown>>): ThreadCosts[] => [
  { name: `${name}: bare relay`, slices: slices.relay },
  { name: `${name}: node on PostgreSQL`, slices: slices.node },
];
