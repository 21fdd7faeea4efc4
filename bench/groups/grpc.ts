import { Pool } from 'undici';
import type { AimName } from '../harness/aims.ts';
import { onClientCore, serverCore } from '../harness/cores.ts';
import { drive, type Load, type Slice } from '../harness/drive.ts';
import type { Group, Setting } from '../harness/group.ts';
import type { Comparison } from '../harness/result.ts';
import { takeTurns } from '../harness/take-turns.ts';
import { type Served, startChild } from '../servers/child.ts';
import { chat, chatStream, listModels, openGrpcClients, type Rpc } from './grpc-call.ts';

const floorName = 'bare grpc-js';

interface Turns {
  readonly rounds: number;
  readonly warmUps: number;
}
const manyTurns: Turns = { rounds: 7, warmUps: 3 };
/** By then all code is compiled. */
const fewTurns: Turns = { rounds: 3, warmUps: 1 };
const oneTurn: Turns = { rounds: 1, warmUps: 0 };

/** Parley and the floors, which answer the same bytes and do nothing else. */
interface Servers {
  readonly parley: Served;
  readonly grpc: Served;
  readonly http: Served;
}

export const grpc: Group = {
  name: 'grpc',
  title: 'gRPC',
  method:
    'Parley with keys, money and records on and durable, its model a scripted one inside, against a bare grpc-js server that ' +
    'answers the same bytes and does nothing else. CPU with 16 calls at once on one connection, as clients of gRPC do; then ' +
    'as many connections as calls. GET /models against bare node:http for the same list over REST.',
  async run(setting) {
    const [parley, grpc, http] = await Promise.all([
      startChild('parley', [], serverCore),
      startChild('bare-grpc', [], serverCore),
      startChild('bare-http', [], serverCore),
    ]);
    try {
      const comparisons = await onClientCore(() => compareAll({ parley, grpc, http }, setting));
      return { comparisons, facts: [], notes: [] };
    } finally {
      await Promise.all([parley, grpc, http].map((server) => server.stop()));
    }
  },
};

async function compareAll(servers: Servers, setting: Setting): Promise<Comparison[]> {
  const cpu = [
    ...(await onOneConnection('chat plain', chat, 'grpcUnary', servers, setting)),
    ...(await onOneConnection('chat streamed, 100 messages', chatStream, 'grpcStream', servers, setting)),
    ...(await onOneConnection('list of models', listModels, undefined, servers, setting)),
    await restList(servers, setting),
  ];
  return [
    ...cpu,
    ...(await atLevels('chat plain', chat, servers, setting)),
    ...(await atLevels('chat streamed', chatStream, servers, setting)),
  ];
}

async function onOneConnection(
  name: string,
  rpc: Rpc,
  aim: AimName | undefined,
  servers: Servers,
  setting: Setting,
): Promise<Comparison[]> {
  setting.say(`${name}, one connection`);
  const slices = await inTurn(rpc, { connections: 1, atOnce: 16, turns: manyTurns }, servers, setting);
  const cpu = compare(`${name}, one connection`, 'µs CPU a call', slices, ({ cpuUsPerCall }) => cpuUsPerCall);
  return [aim ? { ...cpu, aim } : cpu];
}

async function atLevels(name: string, rpc: Rpc, servers: Servers, setting: Setting): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const connections of setting.short ? [1, 16] : [1, 16, 64, 256]) {
    const at = `${name}, ${connections} ${connections === 1 ? 'connection' : 'connections'}`;
    setting.say(at);
    const slices = await inTurn(rpc, { connections, atOnce: connections, turns: fewTurns }, servers, setting);
    comparisons.push(
      compare(at, 'µs CPU a call', slices, ({ cpuUsPerCall }) => cpuUsPerCall),
      compare(at, 'calls/s', slices, ({ perSecond }) => perSecond),
      { ...compare(at, 'ms p50', slices, ({ p50Ms }) => p50Ms), isCharted: false },
      { ...compare(at, 'ms p99', slices, ({ p99Ms }) => p99Ms), isCharted: false },
    );
  }
  const order = ['µs CPU a call', 'calls/s', 'ms p50', 'ms p99'];
  return comparisons.toSorted((a, b) => order.indexOf(a.unit) - order.indexOf(b.unit));
}

interface Slices {
  readonly ours: readonly Slice[];
  readonly theirs: readonly Slice[];
}

interface Clients {
  readonly connections: number;
  readonly atOnce: number;
  readonly turns: Turns;
}

async function inTurn(
  rpc: Rpc,
  { connections, atOnce, turns }: Clients,
  { parley, grpc }: Servers,
  { short }: Setting,
): Promise<Slices> {
  const [ours, theirs] = [parley, grpc].map((server) => openGrpcClients(server, rpc, connections));
  if (ours === undefined || theirs === undefined) throw new Error('there are no clients');
  try {
    if (!(await ours.call(0)).equals(await theirs.call(0)))
      throw new Error(`${rpc.path}: the answers differ`);
    const load: Load = { atOnce, forMs: short ? 50 : 400 };
    return await takeTurns(
      { ours: () => drive(parley, ours.call, load), theirs: () => drive(grpc, theirs.call, load) },
      short ? oneTurn : turns,
    );
  } finally {
    ours.close();
    theirs.close();
  }
}

async function restList({ parley, http }: Servers, { short, say }: Setting): Promise<Comparison> {
  say('the list over REST');
  const load: Load = { atOnce: 16, forMs: short ? 50 : 400 };
  const [ours, theirs] = [openList(parley), openList(http)];
  if ((await ours.call()) !== (await theirs.call())) throw new Error('GET /models: the answers differ');
  const slices = await takeTurns(
    { ours: () => drive(parley, ours.call, load), theirs: () => drive(http, theirs.call, load) },
    short ? oneTurn : manyTurns,
  );
  await Promise.all([ours.close(), theirs.close()]);
  const cpu = compare('REST GET /models', 'µs CPU a call', slices, ({ cpuUsPerCall }) => cpuUsPerCall);
  return { ...cpu, yardstick: 'bare node:http' };
}

function openList({ origin, key }: Served) {
  const pool = new Pool(origin, { connections: 16 });
  const headers = { authorization: `Bearer ${key}` };
  return {
    async call(): Promise<string> {
      const { statusCode, body } = await pool.request({ method: 'GET', path: '/api/v1/models', headers });
      if (statusCode !== 200) throw new Error(`GET /models: status ${statusCode}`);
      return body.text();
    },
    close: () => pool.close(),
  };
}

function compare(
  name: string,
  unit: string,
  { ours, theirs }: Slices,
  pick: (slice: Slice) => number,
): Comparison {
  return { name, yardstick: floorName, unit, ours: ours.map(pick), theirs: theirs.map(pick) };
}
