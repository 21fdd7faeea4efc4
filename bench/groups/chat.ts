import type { Slice } from '../harness/drive.ts';
import { type Contender, compareAll, loadAt, loadInTurn, warmUp } from '../harness/levels.ts';
import { httpLoad } from '../harness/needs.ts';
import { type Comparison, compare, type Group, type Setting, threadsOf } from '../harness/result.ts';
import { type ChatServer, chatContender, eventsOf, type StreamShape } from './chat-call.ts';
import { litellmName, portkeyName, preparePeers } from './chat-peers.ts';
import { startBareRelay, startDurableRelay, startParley, withChatServers } from './chat-servers.ts';

const relayName = 'bare relay';
/** Measured at one connection, where each answer of Parley waits for its own record. */
const durableName = 'relay, a durable write';

type Own<T> = Readonly<Record<typeof relayName | 'Parley', T>>;
/** With peers. */
type Each<T> = Own<T> & Readonly<Record<string, T>>;

/** V8 compiles during the first 20,000 calls. Python and Go compile nothing then. */
const warmUpCalls: Each<number> = {
  [relayName]: 30_000,
  Parley: 30_000,
  [durableName]: 5_000,
  [portkeyName]: 15_000,
  [litellmName]: 200,
};
/** Long enough that the events, not the request, dominate the cost. */
const shape = { pieces: 100 };

export const chat: Group = {
  name: 'chat',
  title: 'Chat',
  method:
    'Parley with keys, money and durable records; a bare undici relay that parses and serialises and does nothing else; ' +
    'Portkey’s gateway and LiteLLM’s proxy with their defaults. All relay to the same model and run on the same core in turn. ' +
    `CPU an event is that of streams of ${eventsOf(shape)} events, request and record included; the relay parses and edits ` +
    'each event. At one connection a second relay writes 163 bytes to the disk before each answer.',
  charts: [
    { name: 'chat-throughput', question: 'How many plain chats a second, on one core, 64 connections?' },
    { name: 'chat-cost', question: 'What do keys, money and records add to a chat?' },
  ],
  needs: httpLoad,
  async run(setting) {
    const { starts, notes } = await preparePeers(setting);
    const own = { [relayName]: startBareRelay, [durableName]: startDurableRelay, Parley: startParley };
    const measure = async (servers: Each<ChatServer>) => {
      const plain = await measurePlain(servers, setting);
      const events = await measureEvents(servers, setting);
      const comparisons = [...plain.comparisons, ...events.comparisons];
      return { comparisons, facts: [], threads: [...plain.threads, ...events.threads], notes };
    };
    return withChatServers({ ...own, ...starts }, measure, setting.upstreamPort);
  },
};

/** @param calls divides the number of calls to warm up, as a stream is worth many of them */
async function prepare(
  servers: Each<ChatServer>,
  setting: Setting,
  { calls, stream }: { readonly calls: number; readonly stream?: StreamShape },
): Promise<Each<Contender>> {
  const contenders: Record<string, Contender> = {};
  for (const [name, server] of Object.entries(servers)) {
    const warmUps = (warmUpCalls[name] ?? 500) / calls;
    contenders[name] = await chatContender(server, warmUps, stream);
  }
  const prepared = contenders as Each<Contender>;
  await warmUp(prepared, setting);
  return prepared;
}

async function measurePlain(servers: Each<ChatServer>, setting: Setting) {
  const contenders = await prepare(servers, setting, { calls: 1 });
  const name = 'plain, 64 connections';
  const { [durableName]: durable, ...others } = contenders;
  const many = await loadAt(64, others as Each<Contender>, setting);
  const comparisons = [
    ...plainAgainstRelay(name, many),
    ...(await plainAlone(
      { ...withoutPeers(contenders), ...(durable && { [durableName]: durable }) },
      setting,
    )),
    ...againstPeers(name, many),
  ];
  return { comparisons, threads: threadsOf(name, many) };
}

function plainAgainstRelay(name: string, slices: Each<Slice[]>): Comparison[] {
  const { [relayName]: theirs, Parley: ours, ...peers } = slices;
  const what = { name, yardstick: relayName };
  const chart = (label: string) => ({ name: 'chat-throughput', label });
  const { cpu, throughput, p50, p99 } = compareAll(what, { ours, theirs });
  return [
    { ...cpu, aim: 'plainCpu', chart: { name: 'chat-cost', label: 'plain, 64 connections: CPU' } },
    { ...throughput, aim: 'plainThroughput', chart: chart('Parley') },
    ...Object.entries(peers).map(([who, ours]) => ({
      ...compareAll({ ...what, who }, { ours, theirs }).throughput,
      chart: chart(who),
    })),
    p50,
    p99,
  ];
}

async function plainAlone(own: Each<Contender>, setting: Setting): Promise<Comparison[]> {
  const { Parley: ours, ...yardsticks } = await loadAt(1, own, setting);
  const p50s = Object.entries(yardsticks).map(
    ([yardstick, theirs]) => compareAll({ name: 'plain, 1 connection', yardstick }, { ours, theirs }).p50,
  );
  const chart = { name: 'chat-cost', label: 'plain, one connection, a durable write: p50' };
  return p50s.map((p50) =>
    p50.yardstick === durableName ? { ...p50, aim: 'plainAlone' as const, chart } : p50,
  );
}

function againstPeers(name: string, slices: Each<Slice[]>): Comparison[] {
  const { [relayName]: _, Parley: ours, ...peers } = slices;
  return Object.entries(peers).flatMap(([yardstick, theirs]) => {
    const { cpu, throughput, p50 } = compareAll({ name, yardstick }, { ours, theirs });
    const aim = yardstick === portkeyName ? ({ aim: 'plainByPortkey' } as const) : {};
    return [cpu, { ...throughput, ...aim }, p50];
  });
}

async function measureEvents(servers: Each<ChatServer>, setting: Setting) {
  const contenders = await prepare(withoutPeers(servers), setting, { calls: 10, stream: shape });
  const name = `streams of ${eventsOf(shape)} events`;
  setting.say(name);
  const slices = await loadInTurn(contenders, { atOnce: setting.short ? 4 : 16 }, setting);
  const comparison = compare<Slice>(
    {
      name: 'streamed, an event',
      yardstick: relayName,
      unit: 'µs CPU an event',
      aim: 'streamedCpu',
      chart: { name: 'chat-cost', label: 'streamed: CPU an event' },
    },
    { ours: slices.Parley, theirs: slices[relayName] },
    ({ cpuUsPerCall }) => cpuUsPerCall / eventsOf(shape),
  );
  return { comparisons: [comparison], threads: threadsOf(name, slices) };
}

const withoutPeers = <T>({ [relayName]: relay, Parley }: Each<T>): Own<T> => ({ [relayName]: relay, Parley });
