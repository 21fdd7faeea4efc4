import type { AimName } from '../harness/aims.ts';
import { onClientCore, serverCore } from '../harness/cores.ts';
import { compareAll, loadInTurn, warmUp } from '../harness/levels.ts';
import { type Comparison, type Group, type Setting, threadsOf } from '../harness/result.ts';
import { type Served, startChild } from '../servers/child.ts';
import { askOnce, chat, chatStream, grpcContender, type Rpc } from './grpc-call.ts';

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
    'bytes and does nothing else: 16 calls at once on one connection, as gRPC clients do.',
  charts: [{ name: 'grpc', question: 'What do keys, money and records add to the CPU of a gRPC call?' }],
  async run(setting) {
    const [parley, floor] = await Promise.all([
      startChild('parley', [JSON.stringify(settings)], serverCore),
      startChild('bare-grpc', [], serverCore),
    ]);
    try {
      return await onClientCore(() => measureBoth({ parley, floor }, setting));
    } finally {
      await Promise.all([parley, floor].map((server) => server.stop()));
    }
  },
};

async function measureBoth(servers: Servers, setting: Setting) {
  const unary = await measure(servers, setting, {
    rpc: chat,
    name: 'chat plain',
    label: 'unary',
    aim: 'grpcUnary',
    warmUpCalls: 30_000,
  });
  const stream = await measure(servers, setting, {
    rpc: chatStream,
    name: 'chat streamed, 100 messages',
    label: 'stream of 100 messages',
    aim: 'grpcStream',
    warmUpCalls: 4_000,
  });
  const both = [unary, stream];
  return {
    comparisons: both.flatMap(({ comparisons }) => comparisons),
    facts: [],
    threads: both.flatMap(({ threads }) => threads),
    notes: [],
  };
}

async function checkAnswers({ parley, floor }: Servers, rpc: Rpc): Promise<void> {
  const [ours, theirs] = [await askOnce(parley, rpc), await askOnce(floor, rpc)];
  if (!ours.equals(theirs)) throw new Error(`${rpc.path}: the answers differ`);
}

interface Measure {
  readonly rpc: Rpc;
  readonly name: string;
  readonly label: string;
  readonly aim: AimName;
  readonly warmUpCalls: number;
}

async function measure(servers: Servers, setting: Setting, { rpc, name, label, aim, warmUpCalls }: Measure) {
  await checkAnswers(servers, rpc);
  const contenders = {
    [floorName]: grpcContender(servers.floor, rpc, warmUpCalls),
    Parley: grpcContender(servers.parley, rpc, warmUpCalls),
  };
  setting.say(name);
  await warmUp(contenders, setting);
  const slices = await loadInTurn(contenders, { atOnce: 16 }, setting);
  const what = { name: `${name}, 16 on 1 connection`, yardstick: floorName };
  const { cpu } = compareAll(what, { ours: slices.Parley, theirs: slices[floorName] });
  const comparisons: Comparison[] = [{ ...cpu, aim, chart: { name: 'grpc', label } }];
  return { comparisons, threads: threadsOf(what.name, slices) };
}
