/** Servers that answer the same requests, driven in turn at several numbers of connections. */
import { drive, type Load, type Metered, type Slice, type Turns, takeTurns } from './drive.ts';
import { type Comparison, compare, type Setting } from './result.ts';

export interface Client {
  /** Rejects unless the answer is complete. */
  call(n: number): Promise<unknown>;
  close(): void | Promise<void>;
}

export interface Contender {
  readonly server: Metered;
  open(connections: number): Client;
}

/** @returns the slices of each contender, by its name */
export async function driveInTurn<Name extends string>(
  contenders: Readonly<Record<Name, Contender>>,
  { connections, turns, ...load }: Load & { readonly connections: number; readonly turns: Turns },
): Promise<Record<Name, Slice[]>> {
  const clients: Client[] = [];
  const run = ({ server, open }: Contender) => {
    const client = open(connections);
    clients.push(client);
    return () => drive(server, client.call, load);
  };
  const names = Object.keys(contenders) as Name[];
  const runs = Object.fromEntries(names.map((name) => [name, run(contenders[name])]));
  try {
    return (await takeTurns<Record<string, Slice>>(runs, turns)) as Record<Name, Slice[]>;
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

/** CPU first: it depends least on the other work of the machine. */
const figures: readonly { unit: string; figure: (slice: Slice) => number; isCharted?: false }[] = [
  { unit: 'µs CPU a request', figure: ({ cpuUsPerCall }) => cpuUsPerCall },
  { unit: 'requests/s', figure: ({ perSecond }) => perSecond },
  { unit: 'ms p50', figure: ({ p50Ms }) => p50Ms, isCharted: false },
  { unit: 'ms p99', figure: ({ p99Ms }) => p99Ms, isCharted: false },
];

/** Compares Parley with each yardstick at 1, 16, 64 and 256 connections with one request at a time on each. */
export async function compareAtLevels(
  name: string,
  parley: Contender,
  yardsticks: Readonly<Record<string, Contender>>,
  { short, say }: Setting,
): Promise<Comparison[]> {
  const levels: { readonly name: string; readonly slices: Record<string, Slice[]> }[] = [];
  for (const connections of short ? [1, 16] : [1, 16, 64, 256]) {
    const at = `${name}, ${connections} ${connections === 1 ? 'connection' : 'connections'}`;
    say(at);
    const turns = short ? { rounds: 1 } : { rounds: 5, warmUps: 1 };
    const load = { connections, atOnce: connections, forMs: short ? 50 : 400, turns };
    levels.push({ name: at, slices: await driveInTurn({ parley, ...yardsticks }, load) });
  }
  return figures.flatMap(({ figure, ...what }) =>
    levels.flatMap(({ name, slices: { parley: ours = [], ...others } }) =>
      Object.entries(others).map(([yardstick, theirs]) =>
        compare({ ...what, name, yardstick }, { ours, theirs }, figure),
      ),
    ),
  );
}
