/** The money path on PostgreSQL: nodes in processes of their own, each with its own requests. */
import type { AimName } from '../harness/aims.ts';
import { type Slice, takeTurns } from '../harness/drive.ts';
import { compareAll } from '../harness/levels.ts';
import { type Comparison, compare, type Setting, type ThreadCosts } from '../harness/result.ts';
import { mapTimes } from '../harness/threads.ts';
import { checkPostgresBooks, openPostgresAccounts } from '../money/postgres-accounts.ts';
import { type Child, startChild } from '../servers/child.ts';
import type { NodeLoad } from '../servers/money-node.ts';
import type { Postgres } from '../servers/postgres.ts';

/** Requests on each node. */
export const atOnce = 64;
const nodesMax = 3;
const yardstick = 'Kysely, two transactions';

const kinds = ['kysely', 'groups'] as const;
type Kind = (typeof kinds)[number];

interface Situation {
  readonly name: string;
  readonly nodes: 1 | typeof nodesMax;
  /** Accounts that are used in turn. Default: all */
  readonly used?: number;
  readonly aims?: { readonly throughput: AimName; readonly cpu: AimName };
}

const situations: readonly Situation[] = [
  { name: '10,000 accounts, one node', nodes: 1, aims: { throughput: 'postgresOne', cpu: 'postgresOneCpu' } },
  {
    name: '10,000 accounts, three nodes',
    nodes: nodesMax,
    aims: { throughput: 'postgresThree', cpu: 'postgresThreeCpu' },
  },
  {
    name: 'one hot account, one node',
    nodes: 1,
    used: 1,
    aims: { throughput: 'postgresHotOne', cpu: 'postgresHotOneCpu' },
  },
  {
    name: 'one hot account, three nodes',
    nodes: nodesMax,
    used: 1,
    aims: { throughput: 'postgresHotThree', cpu: 'postgresHotThreeCpu' },
  },
];

/** One round of all nodes. */
interface Round {
  /** Sums over the nodes; CPU a request of all nodes. The p99 is that of the slowest. */
  readonly slice: Slice;
  readonly postgresUsPerCall: number;
}

export async function measureMoney(server: Postgres, setting: Setting) {
  const accounts = setting.short ? 100 : 10_000;
  const urls: string[] = [];
  const running: Child[] = [];
  const nodes: Record<Kind, Child[]> = { kysely: [], groups: [] };
  try {
    for (const kind of kinds) {
      setting.say(`${kind}: ${accounts} accounts`);
      const url = await server.create(kind);
      urls.push(url);
      await openPostgresAccounts(url, accounts);
      for (let n = 0; n < nodesMax; n++) {
        const node = await startChild('money-node', [kind, url]);
        running.push(node);
        nodes[kind].push(node);
      }
    }
    await warmUp(nodes, accounts, setting);
    const rounds = await inTurn(server, nodes, { accounts, ...setting });
    for (const url of urls) await checkPostgresBooks(url);
    return {
      comparisons: situations.flatMap((each) => compareIn(each, rounds)),
      facts: [],
      threads: threadsOf(rounds),
    };
  } finally {
    await Promise.all(running.map((node) => node.stop()));
  }
}

const nameOf = (kind: Kind, { name }: Situation) => `${kind}: ${name}`;

async function warmUp(nodes: Record<Kind, Child[]>, accounts: number, { short, say }: Setting) {
  const calls = { kysely: 3_000, groups: 30_000 };
  for (const kind of kinds) {
    say(`${kind}: warm-up`);
    const load = { atOnce, forMs: 0, accounts, from: 0, warmUpCalls: short ? atOnce : calls[kind] };
    await Promise.all(nodes[kind].map((node) => node.ask(load)));
  }
}

type Rounds = Record<string, Round[]>;

function inTurn(
  server: Postgres,
  nodes: Record<Kind, Child[]>,
  { accounts, short, quick, say }: Setting & { readonly accounts: number },
): Promise<Rounds> {
  const contenders: Record<string, () => Promise<Round>> = {};
  for (const situation of situations) {
    const load = { atOnce, forMs: short ? 50 : 1_000, accounts: situation.used ?? accounts };
    for (const kind of kinds) {
      const chosen = nodes[kind].slice(0, situation.nodes);
      contenders[nameOf(kind, situation)] = () => driveNodes(server, chosen, load);
    }
  }
  say('requests');
  const rounds = quick ? 4 : 8;
  return takeTurns<Record<string, Round>>(contenders, short ? { rounds: 1 } : { rounds, warmUps: 1 });
}

/** Drives all nodes at once, each with another part of the accounts first. */
async function driveNodes(
  server: Postgres,
  nodes: readonly Child[],
  load: Omit<NodeLoad, 'from'>,
): Promise<Round> {
  const { result, cpuMs } = await server.cpuMsOf(() =>
    Promise.all(
      nodes.map((node, n) => {
        const from = Math.floor((n * load.accounts) / nodes.length);
        return node.ask({ ...load, from }) as Promise<Slice>;
      }),
    ),
  );
  const calls = result.reduce((sum, each) => sum + each.calls, 0);
  return { slice: sumOf(result, calls), postgresUsPerCall: (cpuMs * 1000) / calls };
}

function sumOf(slices: readonly Slice[], calls: number): Slice {
  const mean = (figure: (slice: Slice) => number) =>
    slices.reduce((sum, each) => sum + figure(each) * each.calls, 0) / calls;
  return {
    calls,
    perSecond: slices.reduce((sum, { perSecond }) => sum + perSecond, 0),
    p50Ms: mean(({ p50Ms }) => p50Ms),
    p99Ms: Math.max(...slices.map(({ p99Ms }) => p99Ms)),
    cpuUsPerCall: mean(({ cpuUsPerCall }) => cpuUsPerCall),
    threadUsPerCall: mapTimes((kind) => mean(({ threadUsPerCall }) => threadUsPerCall[kind])),
  };
}

function compareIn(situation: Situation, rounds: Rounds): Comparison[] {
  const { name, aims } = situation;
  const chart = { name: 'postgres-money', label: name };
  const [theirs = [], ours = []] = kinds.map((kind) => rounds[nameOf(kind, situation)]);
  const slices = { ours: ours.map(({ slice }) => slice), theirs: theirs.map(({ slice }) => slice) };
  const { throughput, cpu, p99 } = compareAll({ name, yardstick }, slices);
  const postgres = compare<Round>(
    { name, yardstick, unit: 'µs CPU of PostgreSQL a request', ...(aims && { aim: aims.cpu }) },
    { ours, theirs },
    ({ postgresUsPerCall }) => postgresUsPerCall,
  );
  return [{ ...throughput, chart, ...(aims && { aim: aims.throughput }) }, postgres, cpu, p99];
}

const threadsOf = (rounds: Rounds): ThreadCosts[] =>
  Object.entries(rounds).map(([name, each]) => ({ name, slices: each.map(({ slice }) => slice) }));
