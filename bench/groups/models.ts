import { onClientCore, serverCore } from '../harness/cores.ts';
import { compareAll, connectionsAs, h2loadContender, loadAt, warmUp } from '../harness/levels.ts';
import { type Comparison, type Group, type Setting, threadsOf } from '../harness/result.ts';
import { type Served, startChild } from '../servers/child.ts';

const floorName = 'bare node:http';
const path = '/api/v1/models';
const model = { type: 'chat', engine: 'scripted', price: { input: 0.1, output: 0.4 } };
const settings = {
  engines: { scripted: { kind: 'builtin' }, builtin: { kind: 'builtin' } },
  models: [
    { ...model, id: 'bench' },
    { ...model, id: 'bench-large' },
  ],
};

export const models: Group = {
  name: 'models',
  title: 'The list of models',
  method:
    'GET /models, with the key checked and a durable record of each request, against a node:http server that answers the same bytes ' +
    'and does nothing else.',
  charts: [{ name: 'models', question: 'What do keys and records add to GET /models?' }],
  needs: ['h2load'],
  async run(setting) {
    const parley = await startChild('parley', [JSON.stringify(settings)], serverCore);
    const running = [parley];
    try {
      const body = await listOf(parley);
      const floor = await startChild('bare-http', [body], serverCore);
      running.push(floor);
      if ((await listOf(floor)) !== body) throw new Error('the lists differ');
      return await onClientCore(() => measure(contendersFor({ parley, floor, body }), setting));
    } finally {
      await Promise.all(running.map((server) => server.stop()));
    }
  },
};

interface Servers {
  readonly parley: Served;
  readonly floor: Served;
  /** The answer that all must give. */
  readonly body: string;
}

function contendersFor({ parley, floor, body }: Servers) {
  const answerBytes = Buffer.byteLength(body);
  const contender = (server: Served) => {
    const request = { url: server.origin + path, headers: headersFor(server), answerBytes };
    return h2loadContender(server, 30_000, request);
  };
  return { [floorName]: contender(floor), Parley: contender(parley) };
}

const headersFor = ({ key }: Served) => ({ authorization: `Bearer ${key}` });

const listOf = async (server: Served) =>
  (await fetch(server.origin + path, { headers: headersFor(server) })).text();

async function measure(contenders: ReturnType<typeof contendersFor>, setting: Setting) {
  await warmUp(contenders, setting);
  const at = async (connections: number) => {
    const slices = await loadAt(connections, contenders, setting);
    const name = `GET /models, ${connectionsAs(connections)}`;
    const pair = { ours: slices.Parley, theirs: slices[floorName] };
    return { ...compareAll({ name, yardstick: floorName }, pair), threads: threadsOf(name, slices) };
  };
  const { cpu, throughput, p50, p99, threads } = await at(64);
  const chart = (label: string) => ({ chart: { name: 'models', label } });
  const comparisons: Comparison[] = [
    { ...cpu, aim: 'modelsCpu', ...chart('64 connections: CPU') },
    { ...throughput, ...chart('64 connections: throughput') },
    p50,
    p99,
  ];
  if (!setting.quick) {
    const one = await at(1);
    comparisons.push({ ...one.p50, ...chart('one connection: p50') }, one.cpu);
  }
  return { comparisons, facts: [], threads, notes: [] };
}
