/**
 * Chat through Parley to an upstream, with keys, money and records on and durable, against a bare undici relay that parses
 * and re-serialises. Both relay to the same mock in a process of its own, in the same run and in turn. Each server has one
 * core where `taskset` is installed; the mock and the clients share the other.
 *
 *   node bench/upstream.ts [rounds, default 7] [slow streams, default 2000]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { type Served, startChild } from './servers/child.ts';

const rounds = Number(process.argv[2] ?? 7);
const slowStreams = Number(process.argv[3] ?? 2_000);
const atOnce = 64;
/** Of ten events each, besides the first event and the last two. */
const pieces = 100;
const eventsPerStream = pieces * 10 + 3;
const messages = [
  { role: 'system', content: 'You are a helpful assistant. '.repeat(10) },
  { role: 'user', content: 'Say one hundred words.' },
];

type Call = () => Promise<void>;

function caller({ origin, key }: Served, more: object, connections = atOnce): Call {
  const pool = new Pool(origin, { connections, headersTimeout: 0, bodyTimeout: 0 });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'bench', messages, temperature: 0.5, max_tokens: 200, ...more });
  const ending = 'stream' in more ? 'data: [DONE]\n\n' : '}';
  return async () => {
    const path = '/api/v1/chat/completions';
    const answer = await pool.request({ method: 'POST', path, headers, body });
    let last = '';
    for await (const piece of answer.body) last = String(piece);
    if (answer.statusCode !== 200 || !last.endsWith(ending)) throw new Error(`${answer.statusCode} ${last}`);
  };
}

interface Run {
  readonly cpuUs: number;
  readonly perSecond: number;
}

async function measure(server: Served, call: Call, calls: number, workers = atOnce): Promise<Run> {
  const [cpuMs, startedAt] = [await server.cpuMs(), performance.now()];
  let left = calls;
  const worker = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: workers }, worker));
  const seconds = (performance.now() - startedAt) / 1000;
  return { cpuUs: ((await server.cpuMs()) - cpuMs) * (1000 / calls), perSecond: calls / seconds };
}

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
const spread = (values: readonly number[]) =>
  `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)})`;
const print = (line: string) => process.stdout.write(`${line}\n`);

/** The two in turn, so that a slow moment of the machine hits both. */
async function inTurn(parley: Served, relay: Served, more: object, calls: number) {
  const [ours, theirs] = [caller(parley, more), caller(relay, more)];
  await measure(parley, ours, calls);
  await measure(relay, theirs, calls);
  const pairs: { ours: Run; theirs: Run }[] = [];
  for (let round = 0; round < rounds; round++) {
    pairs.push({ theirs: await measure(relay, theirs, calls), ours: await measure(parley, ours, calls) });
  }
  return pairs;
}

async function plain(parley: Served, relay: Served): Promise<void> {
  const pairs = await inTurn(parley, relay, {}, 3_000);
  const [ours, theirs] = [pairs.map((pair) => pair.ours), pairs.map((pair) => pair.theirs)];
  print(`plain chat, ${atOnce} connections, medians of ${rounds} rounds`);
  print(
    `  relay     ${median(theirs.map(({ perSecond }) => perSecond)).toFixed(0)} a second, ${median(theirs.map(({ cpuUs }) => cpuUs)).toFixed(0)} µs CPU`,
  );
  print(
    `  Parley    ${median(ours.map(({ perSecond }) => perSecond)).toFixed(0)} a second, ${median(ours.map(({ cpuUs }) => cpuUs)).toFixed(0)} µs CPU`,
  );
  print(
    `  throughput of the relay's   ${spread(pairs.map((pair) => pair.ours.perSecond / pair.theirs.perSecond))}`,
  );
  print(`  the same by CPU             ${spread(pairs.map((pair) => pair.theirs.cpuUs / pair.ours.cpuUs))}`);
}

async function streamed(parley: Served, relay: Served): Promise<void> {
  const pairs = await inTurn(parley, relay, { stream: true, bench: { pieces } }, 64);
  const perEvent = (runs: readonly Run[]) =>
    (median(runs.map(({ cpuUs }) => cpuUs)) / eventsPerStream).toFixed(1);
  print(`streamed chat of ${eventsPerStream} events, ten a piece`);
  print(`  relay     ${perEvent(pairs.map(({ theirs }) => theirs))} µs CPU an event`);
  print(
    `  Parley    ${perEvent(pairs.map(({ ours }) => ours))} µs CPU an event, its request and its record included`,
  );
  print(`  CPU of the relay's          ${spread(pairs.map((pair) => pair.ours.cpuUs / pair.theirs.cpuUs))}`);
}

async function latency(parley: Served, relay: Served): Promise<void> {
  const times = new Map<Served, number[]>([
    [parley, []],
    [relay, []],
  ]);
  const calls = new Map([parley, relay].map((server) => [server, caller(server, {}, 1)]));
  for (let call = 0; call < 100 * rounds; call++) {
    for (const [server, samples] of times) {
      const startedAt = performance.now();
      await calls.get(server)?.();
      samples.push(performance.now() - startedAt);
    }
  }
  const [ours = 0, theirs = 0] = [...times.values()].map(median);
  print('latency of a plain chat at one connection, medians');
  print(
    `  relay ${theirs.toFixed(2)} ms, Parley ${ours.toFixed(2)} ms: ${(ours - theirs).toFixed(2)} ms more`,
  );
}

async function memory(parley: Served): Promise<void> {
  const before = parley.rssMiB();
  const slow = caller(parley, { stream: true, bench: { everyMs: 2_000 } }, slowStreams);
  let ended = 0;
  const all = Promise.all(
    Array.from({ length: slowStreams }, async (_, index) => {
      await sleep(index * 2);
      await slow();
      ended++;
    }),
  );
  await sleep(slowStreams * 2 + 4_000);
  const during = parley.rssMiB();
  const open = slowStreams - ended;
  await all;
  await sleep(5_000);
  print(`memory with ${open} slow streams open`);
  print(
    `  before ${before.toFixed(0)} MiB, during ${during.toFixed(0)} MiB, after ${parley.rssMiB().toFixed(0)} MiB`,
  );
}

const mock = await startChild('mock-upstream', [], 1);
const servers = await Promise.all(
  ['parley-relay', 'bare-relay'].map((name) => startChild(name, [mock.origin], 0)),
);
const [parley, relay] = servers as [Served, Served];
await plain(parley, relay);
await streamed(parley, relay);
await latency(parley, relay);
const fresh = await startChild('parley-relay', [mock.origin], 0);
await memory(fresh);
for (const server of [...servers, fresh, mock]) server.stop();
process.exit(0);
