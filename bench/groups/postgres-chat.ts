/** A plain chat of nodes on PostgreSQL. */
import { compareAll, loadAt, warmUp } from '../harness/levels.ts';
import { type Comparison, type Setting, threadsOf } from '../harness/result.ts';
import { withClient } from '../money/postgres-accounts.ts';
import type { Postgres } from '../servers/postgres.ts';
import { chatContender } from './chat-call.ts';
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
    const contenders = {
      'bare relay': await chatContender(relay, warmUpCalls),
      'node on PostgreSQL': await chatContender(node, warmUpCalls),
    };
    await warmUp(contenders, setting);
    const callsBefore = await recordsIn(url);
    const { result: slices, cpuMs } = await server.cpuMsOf(() => loadAt(64, contenders, setting));
    const postgresUs = (cpuMs * 1000) / ((await recordsIn(url)) - callsBefore);
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

const recordsIn = (url: string) =>
  withClient(url, async (client) =>
    Number((await client.query('select count(*) from usage_records')).rows[0]?.count),
  );
