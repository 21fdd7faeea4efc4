import { onClientCore, serverCore } from '../harness/cores.ts';
import { compareAll, connectionsAs, h2loadContender, loadAt, warmUp } from '../harness/levels.ts';
import { type Comparison, type Group, type Setting, threadsOf } from '../harness/result.ts';
import { type Served, startChild } from '../servers/child.ts';

const floorName = 'bare node:http';
const durableName = 'node:http, a durable write';
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
    'and does nothing else. Over one connection also against such a server that writes 163 bytes to the disk before each answer.',
  charts: [{ name: 'models', question: 'What do keys and records add to GET /models?' }],
  needs: ['h2load'],
  async run(setting) {
    const parley = await startChild('parley', [JSON.stringify(settings)], serverCore);
    const running = [parley];
    try {
      const body = await listOf(parley);
      const floor = await startChild('bare-http', [body], serverCore);
      const durable = await startChild('bare-http', [body, 'durable'], serverCore);
      running.push(floor, durable);
      if ((await listOf(floor)) !== body) throw new Error('the lists differ');
      return await onClientCore(() => measure(contendersFor({ parley, floor, durable, body }), setting));
    } finally {
      await Promise.all(running.map((server) => server.stop()));
    }
  },
};

interface Servers {
  readonly parley: Served;
  readonly floor: Served;
  readonly durable: Served;
  /** The answer that all must give. */
  readonly body: string;
}

function contendersFor({ parley, floor, durable, body }: Servers) {
  const answerBytes = Buffer.byteLength(body);
  const contender = (server: Served) => {
    const request = { url: server.origin + path, headers: headersFor(server), answerBytes };
    return h2loadContender(server, server === durable ? 5_000 : 30_000, request);
  };
  return { [floorName]: contender(floor), [durableName]: contender(durable), Parley: contender(parley) };
}

const headersFor = ({ key }: Served) => ({ authorization: `Bearer ${key}` });

const listOf = async (server: Served) =>
  (await fetch(server.origin + path, { headers: headersFor(server) })).text();

async function measure(contenders: ReturnType<typeof contendersFor>, setting: Setting) {
  await warmUp(contenders, setting);
  const { [durableName]: _, ...atFull } = contenders;
  const nameOf = (connections: number) => `GET /models, ${connectionsAs(connections)}`;
  const slices = await loadAt(64, atFull, setting);
  const pair = { ours: slices.Parley, theirs: slices[floorName] };
  const { cpu, throughput, p50, p99 } = compareAll({ name: nameOf(64), yardstick: floorName }, pair);
  const chart = (label: string) => ({ chart: { name: 'models', label } });
  const comparisons: Comparison[] = [
    { ...cpu, aim: 'modelsCpu', ...chart('64 connections: CPU') },
    { ...throughput, ...chart('64 connections: throughput') },
    p50,
    p99,
  ];
  const alone = await loadAt(1, contenders, setting);
  const against = (yardstick: typeof floorName | typeof durableName) =>
    compareAll({ name: nameOf(1), yardstick }, { ours: alone.Parley, theirs: alone[yardstick] });
  const one = against(floorName);
  comparisons.push(
    { ...against(durableName).p50, aim: 'modelsAlone', ...chart('one connection, a durable write: p50') },
    one.p50,
    one.cpu,
  );
  return { comparisons, facts: [], threads: threadsOf(nameOf(64), slices), notes: [] };
}
