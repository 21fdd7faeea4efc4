/** Servers that answer the same requests, warmed and then loaded in turn. */
import { type Slice, sliceOf, type Times, type Turns, takeTurns } from './drive.ts';
import { h2load, type LoadRequest } from './h2load.ts';
import { type Comparison, compare, type Setting } from './result.ts';

export interface Contender {
  readonly server: { readonly pid: number };
  /** Sends a number of calls. Rejects unless all answers are complete. */
  send(level: Level, calls: number): Promise<Times>;
  /** Calls before measuring, until V8 has compiled the code that they use. */
  readonly warmUpCalls: number;
}

export type Contenders = Readonly<Record<string, Contender>>;
/** The slices of each contender, by its name. */
export type SlicesOf<All> = { readonly [Name in keyof All]: Slice[] };

export interface Level {
  /** Requests at once; over HTTP/1.1 as many connections. */
  readonly atOnce: number;
}

/** Sends its calls by h2load. */
export function h2loadContender(
  server: Contender['server'],
  warmUpCalls: number,
  request: LoadRequest,
): Contender {
  return {
    server,
    warmUpCalls,
    async send({ atOnce }, calls) {
      const answered = await h2load(request, { connections: atOnce, until: { calls } });
      const startMs = Math.min(...answered.map(({ startedAtMs }) => startedAtMs));
      const endMs = Math.max(...answered.map(({ startedAtMs, ms }) => startedAtMs + ms));
      return { timesMs: answered.map(({ ms }) => ms), seconds: (endMs - startMs) / 1000 };
    },
  };
}

export async function warmUp(contenders: Contenders, { short, say }: Setting): Promise<void> {
  for (const [name, contender] of Object.entries(contenders)) {
    const calls = short ? 32 : contender.warmUpCalls;
    say(`${name}: ${calls} calls to warm up`);
    await contender.send({ atOnce: 32 }, calls);
  }
}

export async function loadInTurn<All extends Contenders>(
  contenders: All,
  level: Level,
  { short, quick }: Setting,
): Promise<SlicesOf<All>> {
  const turns: Turns = short ? { rounds: 1 } : { rounds: quick ? 8 : 12, warmUps: 2 };
  const runs = Object.entries(contenders).map(
    ([name, contender]) => [name, slicesOf(contender, level, short ? 0 : sliceMs)] as const,
  );
  return (await takeTurns<Record<string, Slice>>(Object.fromEntries(runs), turns)) as SlicesOf<All>;
}

/** Many short slices, so that both of a pair see the same moments of the machine. */
const sliceMs = 500;
/** In the first slice of a contender, times those at once. */
const callsAtFirst = 4;

/** Each slice has as many calls as the pace of the one before it allows: h2load cuts off requests that a time ends. */
function slicesOf(contender: Contender, level: Level, forMs: number): () => Promise<Slice> {
  const callsMin = level.atOnce * (forMs === 0 ? 1 : callsAtFirst);
  let calls = callsMin;
  return async () => {
    const slice = await sliceOf(contender.server, () => contender.send(level, calls));
    calls = Math.max(callsMin, Math.round((slice.perSecond * forMs) / 1000));
    return slice;
  };
}

/** Loads each contender over a number of connections, with one call at a time on each. */
export function loadAt<All extends Contenders>(
  connections: number,
  contenders: All,
  setting: Setting,
): Promise<SlicesOf<All>> {
  setting.say(connectionsAs(connections));
  return loadInTurn(contenders, { atOnce: connections }, setting);
}

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
