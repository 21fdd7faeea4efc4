import type { AimName } from '../harness/aims.ts';
import { onClientCore, serverCore } from '../harness/cores.ts';
import { compareAtLevels, driveInTurn } from '../harness/levels.ts';
import { type Comparison, compare, type Group, type Setting } from '../harness/result.ts';
import { type Served, startChild } from '../servers/child.ts';
import { chat, chatStream, grpcContender, openGrpcClient, type Rpc } from './grpc-call.ts';

const floorName = 'bare grpc-js';
const settings = {
  engines: { scripted: { kind: 'builtin' } },
  models: [{ id: 'bench', type: 'chat', engine: 'scripted', price: { input: 0.1, output: 0.4 } }],
};

interface Servers {
  readonly parley: Served;
  readonly floor: Served;
}

export const grpc: Group = {
  name: 'grpc',
  title: 'gRPC',
  method:
    'Parley with keys, money and durable records and a scripted model inside, against a bare grpc-js server that answers the same ' +
    'bytes and does nothing else. First 16 calls at once on one connection, as gRPC clients do; then one call at a time on 1 to ' +
    '256 connections.',
  async run(setting) {
    const [parley, floor] = await Promise.all([
      startChild('parley', [JSON.stringify(settings)], serverCore),
      startChild('bare-grpc', [], serverCore),
    ]);
    try {
      const comparisons = await onClientCore(() => compareAll({ parley, floor }, setting));
      return { comparisons, facts: [], notes: [] };
    } finally {
      await Promise.all([parley, floor].map((server) => server.stop()));
    }
  },
};

async function compareAll(servers: Servers, setting: Setting): Promise<Comparison[]> {
  for (const rpc of [chat, chatStream]) await checkAnswers(servers, rpc);
  const levels = (name: string, rpc: Rpc) => {
    const yardsticks = { [floorName]: grpcContender(servers.floor, rpc) };
    return compareAtLevels(name, grpcContender(servers.parley, rpc), yardsticks, setting);
  };
  return [
    await onOneConnection('chat plain', chat, 'grpcUnary', servers, setting),
    await onOneConnection('chat streamed, 100 messages', chatStream, 'grpcStream', servers, setting),
    ...(await levels('chat plain', chat)),
    ...(await levels('chat streamed', chatStream)),
  ];
}

async function checkAnswers({ parley, floor }: Servers, rpc: Rpc): Promise<void> {
  const clients = [parley, floor].map((server) => openGrpcClient(server, rpc, 1));
  const [ours, theirs] = await Promise.all(clients.map((client) => client.call(0)));
  for (const client of clients) client.close();
  if (!ours || !theirs || !ours.equals(theirs)) throw new Error(`${rpc.path}: the answers differ`);
}

async function onOneConnection(
  name: string,
  rpc: Rpc,
  aim: AimName,
  { parley, floor }: Servers,
  { short, say }: Setting,
): Promise<Comparison> {
  const what = { name: `${name}, one connection`, yardstick: floorName, unit: 'µs CPU a request', aim };
  say(what.name);
  const turns = short ? { rounds: 1 } : { rounds: 7, warmUps: 3 };
  const contenders = { ours: grpcContender(parley, rpc), theirs: grpcContender(floor, rpc) };
  const load = { connections: 1, atOnce: 16, forMs: short ? 50 : 400, turns };
  return compare(what, await driveInTurn(contenders, load), ({ cpuUsPerCall }) => cpuUsPerCall);
}
