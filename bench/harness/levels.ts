/** Servers that answer the same requests, warmed and then driven in turn. */
import { drive, type Load, type Slice, send, type Turns, takeTurns } from './drive.ts';
import { type Comparison, compare, type Setting } from './result.ts';

export interface Client {
  /** Rejects unless the answer is complete. */
  call(n: number): Promise<unknown>;
  close(): void | Promise<void>;
}

export interface Contender {
  readonly server: { readonly pid: number };
  open(connections: number): Client;
  /** Calls before the first that counts, until V8 has compiled what they use. */
  readonly warmUpCalls: number;
}

export type Contenders = Readonly<Record<string, Contender>>;
/** The slices of each contender, by its name. */
export type SlicesOf<All> = { readonly [Name in keyof All]: Slice[] };

export async function warmUp(contenders: Contenders, { short, say }: Setting): Promise<void> {
  for (const [name, { open, warmUpCalls }] of Object.entries(contenders)) {
    const calls = short ? 32 : warmUpCalls;
    say(`${name}: ${calls} calls to warm up`);
    const client = open(32);
    await send(client.call, { atOnce: 32, calls });
    await client.close();
  }
}

export async function driveInTurn<All extends Contenders>(
  contenders: All,
  { connections, turns, ...load }: Load & { readonly connections: number; readonly turns: Turns },
): Promise<SlicesOf<All>> {
  const clients: Client[] = [];
  const run = ({ server, open }: Contender) => {
    const client = open(connections);
    clients.push(client);
    return () => drive(server, client.call, load);
  };
  const runs = Object.entries(contenders).map(([name, contender]) => [name, run(contender)] as const);
  try {
    return (await takeTurns<Record<string, Slice>>(Object.fromEntries(runs), turns)) as SlicesOf<All>;
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

/** Drives each contender over a number of connections, with one call at a time on each. */
export function driveAt<All extends Contenders>(
  connections: number,
  contenders: All,
  setting: Setting,
): Promise<SlicesOf<All>> {
  setting.say(connectionsAs(connections));
  return driveInTurn(contenders, { connections, atOnce: connections, ...loadOf(setting, 50) });
}

/** Many short slices, so that both of a pair see the same moments of the machine. */
export const loadOf = ({ short, quick }: Setting, shortMs: number) => ({
  forMs: short ? shortMs : 400,
  turns: short ? { rounds: 1 } : { rounds: quick ? 8 : 12, warmUps: 1 },
});

export const connectionsAs = (count: number) => `${count} ${count === 1 ? 'connection' : 'connections'}`;

/** Samples of Parley and of its yardstick. */
export interface Pair {
  readonly ours: readonly Slice[];
  readonly theirs: readonly Slice[];
}

/** CPU first: it depends least on the other work of the machine. */
export function compareAll(what: Pick<Comparison, 'name' | 'who' | 'yardstick'>, pair: Pair) {
  return {
    cpu: compare<Slice>({ ...what, unit: 'µs CPU a request' }, pair, ({ cpuUsPerCall }) => cpuUsPerCall),
    throughput: compare<Slice>({ ...what, unit: 'requests/s' }, pair, ({ perSecond }) => perSecond),
    p50: compare<Slice>({ ...what, unit: 'ms p50' }, pair, ({ p50Ms }) => p50Ms),
    p99: compare<Slice>({ ...what, unit: 'ms p99' }, pair, ({ p99Ms }) => p99Ms),
  };
}
