/** Chat at several numbers of connections: Parley, the bare relay and the peer take turns at each. */
import { drive, type Slice } from '../harness/drive.ts';
import type { Setting } from '../harness/group.ts';
import type { Comparison, Fact } from '../harness/result.ts';
import { takeTurns } from '../harness/take-turns.ts';
import { type ChatServer, openChatClient, type StreamShape } from './chat-call.ts';
import type { ChatServers } from './chat-servers.ts';

export const relayName = 'bare undici relay';
export const portkeyName = '@portkey-ai/gateway';

export interface Level {
  readonly connections: number;
  readonly ours: readonly Slice[];
  readonly relay: readonly Slice[];
  readonly portkey: readonly Slice[] | undefined;
}

export async function measureLevels(
  { parley, relay, portkey }: ChatServers,
  { short, say }: Setting,
  stream?: StreamShape,
): Promise<Level[]> {
  const servers = { parley, relay, ...(portkey && { portkey }) };
  for (const server of Object.values(servers)) await warmUp(server, short, stream);
  const levels: Level[] = [];
  for (const connections of short ? [1, 16] : [1, 16, 64, 256]) {
    say(`${connections} connections`);
    const load = { atOnce: connections, forMs: short ? 50 : 500 };
    const clients = Object.entries(servers).map(
      ([name, server]) => [name, server, openChatClient(server, connections, stream)] as const,
    );
    const contenders = Object.fromEntries(
      clients.map(([name, server, client]) => [name, () => drive(server, client.call, load)]),
    );
    const samples = await takeTurns(contenders, { rounds: short ? 1 : 5, warmUps: short ? 0 : 1 });
    await Promise.all(clients.map(([, , client]) => client.close()));
    const { parley: ours = [], relay: theirs = [] } = samples;
    levels.push({ connections, ours, relay: theirs, portkey: samples['portkey'] });
  }
  return levels;
}

/** After some thousands of requests a server has all of its code compiled. */
async function warmUp(server: ChatServer, short: boolean, stream?: StreamShape): Promise<void> {
  const load = { atOnce: 64, forMs: short ? 0 : 2_500 };
  const client = openChatClient(server, load.atOnce, stream);
  await drive(server, client.call, load);
  await client.close();
}

/** CPU first, then throughput, then latency, which depends on the machine. */
export function compareLevels(kind: string, levels: readonly Level[]): Comparison[] {
  const at = ({ connections }: Level) =>
    `${kind}, ${connections} ${connections === 1 ? 'client' : 'clients'}`;
  const against = (unit: string, pick: (slice: Slice) => number) =>
    levels.flatMap((level) => {
      const [name, ours] = [at(level), level.ours.map(pick)];
      const beside = (yardstick: string, slices: readonly Slice[]) => ({
        name,
        yardstick,
        unit,
        ours,
        theirs: slices.map(pick),
      });
      return [beside(relayName, level.relay), ...(level.portkey ? [beside(portkeyName, level.portkey)] : [])];
    });
  return [
    ...against('µs CPU a request', ({ cpuUsPerCall }) => cpuUsPerCall),
    ...against('requests/s', ({ perSecond }) => perSecond),
    ...uncharted(against('ms p50', ({ p50Ms }) => p50Ms)),
    ...uncharted(against('ms p99', ({ p99Ms }) => p99Ms)),
  ];
}

/** Which requests a comparison counts for, so that a group can set its aims. */
export function isThroughputAt(clients: number, yardstick: string) {
  return (comparison: Comparison) =>
    comparison.unit === 'requests/s' &&
    comparison.yardstick === yardstick &&
    comparison.name.endsWith(`, ${clients} clients`);
}

export function requestCount(kind: string, levels: readonly Level[]): Fact {
  const calls = levels.flatMap(({ ours }) => ours).reduce((sum, slice) => sum + slice.calls, 0);
  return { name: `${kind}: requests that Parley answered`, unit: 'requests', values: [calls] };
}

const uncharted = (comparisons: readonly Comparison[]) =>
  comparisons.map((comparison) => ({ ...comparison, isCharted: false }));
