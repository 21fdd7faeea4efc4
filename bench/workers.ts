/**
 * Chats a second through Parley to a mock upstream, with several workers against one process, in the same run and in turn, with keys, money and records on and
 * durable. The clients write prepared bytes to sockets, as they share the cores with the servers. CPU tells what each process
 * needs for a request, which a busy machine changes less.
 *
 *   node bench/workers.ts [workers, default 2] [rounds, default 7]
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild } from './servers/child.ts';
import { RawChats } from './servers/raw-chats.ts';
import { relaySettings } from './servers/relay-settings.ts';

const workers = Number(process.argv[2] ?? 2);
const rounds = Number(process.argv[3] ?? 7);
const atOnce = 64;
const sliceMs = 2_000;
const main = new URL('../src/main.ts', import.meta.url).pathname;
const content = 'I am worried about my work, and my mother does not listen to me when I talk about it.';
const messages = [{ role: 'user', content }];
/** Ticks of the CPU counters of /proc. */
const tickMs = 10;

interface Server {
  readonly child: ChildProcess;
  readonly dataDir: string;
  readonly origin: string;
  readonly key: string;
}

interface Slice {
  readonly perSecond: number;
  /** CPU in µs a request of the process that has the database, and of all its workers. */
  readonly leaderUs: number;
  readonly workersUs: number;
}

async function start(count: number, upstream: string): Promise<Server> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const config = join(dataDir, 'parley.yaml');
  writeFileSync(config, JSON.stringify(relaySettings(upstream)));
  const args = [
    'serve',
    '--demo',
    '--port',
    '0',
    '--workers',
    String(count),
    '--log-level',
    'warn',
    '--config',
    config,
  ];
  const stdio = ['ignore', 'ignore', 'inherit'] as const;
  const child = spawn(process.execPath, [main, ...args, '--data-dir', dataDir], { stdio: [...stdio] });
  const file = join(dataDir, 'first-run.json');
  while (!existsSync(file) || readFileSync(file, 'utf8') === '') await sleep(50);
  const { baseUrl, apiKey, adminKey } = JSON.parse(readFileSync(file, 'utf8'));
  await fetch(`${baseUrl}/admin/accounts/demo/credits`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}` },
    body: JSON.stringify({ amount: '1000000', reason: 'bench', idempotency_key: 'bench' }),
  });
  return { child, dataDir, origin: new URL(baseUrl).origin, key: apiKey };
}

function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' '))
    .filter(Boolean)
    .map(Number);
}

async function measure(chats: RawChats, { child }: Server): Promise<Slice> {
  const pid = child.pid ?? 0;
  const forks = childrenOf(pid);
  const used = () => [cpuMs(pid), forks.reduce((sum, fork) => sum + cpuMs(fork), 0)] as const;
  const [leaderBefore, workersBefore] = used();
  const startedAt = performance.now();
  const answered = await chats.runFor(sliceMs);
  const seconds = (performance.now() - startedAt) / 1000;
  const [leader, others] = used();
  const us = 1000 / answered;
  return {
    perSecond: answered / seconds,
    leaderUs: (leader - leaderBefore) * us,
    workersUs: (others - workersBefore) * us,
  };
}

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
const print = (line: string) => process.stdout.write(`${line}\n`);

function row(name: string, slices: readonly Slice[]): void {
  const of = (pick: (slice: Slice) => number) => median(slices.map(pick)).toFixed(0);
  const cpu = `${of(({ leaderUs }) => leaderUs)} µs CPU in the first process, ${of(({ workersUs }) => workersUs)} µs in workers`;
  print(`  ${name.padEnd(12)} ${of(({ perSecond }) => perSecond).padStart(6)} a second, ${cpu}`);
}

async function compare(name: string, more: object, one: Server, several: Server): Promise<void> {
  const body = JSON.stringify({ model: 'bench', messages, max_tokens: 100, ...more });
  const [alone, shared] = await Promise.all(
    [one, several].map((server) => RawChats.open(server, body, atOnce)),
  );
  if (alone === undefined || shared === undefined) return;
  await measure(alone, one);
  await measure(shared, several);
  const pairs: { alone: Slice; shared: Slice }[] = [];
  for (let round = 0; round < rounds; round++)
    pairs.push({ alone: await measure(alone, one), shared: await measure(shared, several) });
  for (const chats of [alone, shared]) chats.close();
  const ratios = pairs.map((pair) => pair.shared.perSecond / pair.alone.perSecond);
  print(`${name}, ${atOnce} connections, medians of ${rounds} rounds of ${sliceMs} ms`);
  row(
    '1 process',
    pairs.map((pair) => pair.alone),
  );
  row(
    `${workers} workers`,
    pairs.map((pair) => pair.shared),
  );
  print(
    `  throughput   ${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
  );
}

const mock = await startChild('mock-upstream');
const servers = [await start(1, mock.origin), await start(workers, mock.origin)] as const;
try {
  await compare('plain chat', {}, ...servers);
  const pieces = 30;
  await compare(
    `streamed chat of ${pieces * 10 + 3} events`,
    { stream: true, bench: { pieces } },
    ...servers,
  );
} finally {
  for (const { child, dataDir } of servers) {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
    rmSync(dataDir, { recursive: true });
  }
  mock.stop();
}
