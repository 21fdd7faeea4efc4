/** The aims: what Parley should reach, beside a yardstick of the same run or, where a unit is given, by itself. */
import type { Comparison, Fact } from './result.ts';
import { type Ratio, ratioOf, spreadOf, threeDigits } from './statistics.ts';

type Unit = 'ms' | 'MB' | 'KiB' | 'bytes' | 'files' | 'functions' | 'calls' | '%';

export interface Aim {
  readonly what: string;
  readonly bound: 'at least' | 'at most';
  /** A ratio, unless there is a unit. */
  readonly limit: number;
  readonly unit?: Unit;
}

const atLeast = (limit: number, what: string, unit?: Unit): Aim => ({
  what,
  bound: 'at least',
  limit,
  ...(unit && { unit }),
});
const atMost = (limit: number, what: string, unit?: Unit): Aim => ({
  what,
  bound: 'at most',
  limit,
  ...(unit && { unit }),
});

export const aims = {
  plainThroughput: atLeast(0.72, 'chat plain, 64 connections: throughput against the bare relay'),
  plainCpu: atMost(1.35, 'chat plain, 64 connections: CPU against the bare relay'),
  plainAlone: atMost(1.5, 'chat plain, one connection: p50 against a relay with one durable write'),
  plainByPortkey: atLeast(6, 'chat plain, 64 connections: throughput against Portkey’s gateway'),
  limitsCpu: atMost(1.05, 'chat plain, 64 connections, every limit of key and account: CPU against none'),
  streamedCpu: atMost(0.6, 'chat streamed: CPU an event against parse and print'),
  grpcUnary: atMost(1.9, 'gRPC unary: CPU against bare grpc-js'),
  grpcStream: atMost(1.2, 'gRPC stream of 100 messages: CPU against bare grpc-js'),
  modelsCpu: atMost(1.8, 'GET /models, 64 connections: CPU against bare node:http'),
  modelsAlone: atMost(1.4, 'GET /models, one connection: p50 against node:http with one durable write'),
  writerTrip: atMost(0.1, 'there and back to the writer thread, less the transaction: p50', 'ms'),
  moneyByKysely: atLeast(18, 'money path: throughput against separate Kysely transactions'),
  moneyLarge: atLeast(0.9, 'money path, 500,000 records, 10,000 accounts: against no records and 64'),
  requestBytes: atMost(260, 'SQLite: size of a request with its debit', 'bytes'),
  postgresOne: atLeast(10, 'PostgreSQL, 10,000 accounts, one node: throughput against Kysely'),
  postgresThree: atLeast(15, 'PostgreSQL, 10,000 accounts, three nodes: throughput against Kysely'),
  postgresHotOne: atLeast(15, 'PostgreSQL, one hot account, one node: throughput against Kysely'),
  postgresHotThree: atLeast(15, 'PostgreSQL, one hot account, three nodes: throughput against Kysely'),
  postgresOneCpu: atMost(0.2, 'PostgreSQL’s own CPU, 10,000 accounts, one node: against Kysely’s'),
  postgresThreeCpu: atMost(0.2, 'PostgreSQL’s own CPU, 10,000 accounts, three nodes: against Kysely’s'),
  postgresHotOneCpu: atMost(0.2, 'PostgreSQL’s own CPU, one hot account, one node: against Kysely’s'),
  postgresHotThreeCpu: atMost(0.2, 'PostgreSQL’s own CPU, one hot account, three nodes: against Kysely’s'),
  postgresChat: atLeast(0.5, 'chat plain on PostgreSQL, 64 connections: throughput against the bare relay'),
  walkFiles: atMost(70, 'a plain chat on SQLite: files that run', 'files'),
  walkFunctions: atMost(300, 'a plain chat on SQLite: functions that run', 'functions'),
  walkCalls: atMost(500, 'a plain chat on SQLite: calls of functions', 'calls'),
  walkCallsPostgres: atMost(800, 'a plain chat on PostgreSQL: calls of functions', 'calls'),
  loopHeld: atMost(5, 'a request without store while each sync takes 50 ms: p99', 'ms'),
  speechFirstByte: atMost(0.05, 'speech, 4,000 characters, mp3: first byte against the whole-text pipeline'),
  speechPcmCpu: atMost(0.92, 'speech, 4,000 characters, pcm: CPU against flite and ffmpeg'),
  speechTotal: atMost(0.69, 'speech, 4,000 characters, mp3: total against the engine alone'),
  transcription: atMost(1.1, 'transcription: total against recogniser and ffmpeg by hand'),
  hearingRight: atLeast(95, 'five recordings of a reader: words that the recogniser inside gets right', '%'),
  hearingCpu: atMost(0.45, 'the recogniser inside: CPU against pocketsphinx'),
  liveReader: atLeast(93, 'five recordings of a reader, live: words right', '%'),
  // Moonshine decodes a turn at its end, and before that at growing pauses for the partial texts.
  liveCpuMoonshine: atMost(1.7, 'live, Moonshine, with partial texts: CPU against uploads'),
  liveFinalMoonshine: atMost(0.85, 'live, Moonshine: CPU after the end of speech, of the whole sentence'),
  // pocketsphinx hears a turn as an upload of it.
  liveCpuPocketsphinx: atMost(1.1, 'live, pocketsphinx: CPU against uploads'),
  liveFinalPocketsphinx: atMost(
    1.05,
    'live, pocketsphinx: CPU after the end of speech, of the whole sentence',
  ),
  liveErrors: atMost(1.15, 'live transcription: wrong words against uploads'),
  liveIdleWebSocket: atMost(32, '1,000 idle live sessions over WebSocket: live memory of one', 'KiB'),
  liveIdleGrpc: atMost(32, '1,000 idle live sessions over gRPC: live memory of one', 'KiB'),
  liveLatest: atMost(
    2_000,
    '15 people who speak 40 % of the time, two cores: latest text after the end of speech',
    'ms',
  ),
  streamMemory: atMost(1.15, 'memory after 1,000 streams ended, against before'),
  idleMemory: atMost(100, 'resident memory of dist, idle', 'MB'),
  idleExecutable: atMost(105, 'resident memory of the executable, idle', 'MB'),
  versionCpu: atMost(150, '`parley --version` from dist: CPU', 'ms'),
} as const satisfies Record<string, Aim>;

export type AimName = keyof typeof aims;

export interface Verdict extends Aim {
  readonly measured: Ratio | undefined;
  readonly isMissed: boolean;
  /** `met by 12 %`, `missed by 3 %`, `not measured`. */
  readonly verdict: string;
}

export interface Figures {
  readonly comparisons: readonly Comparison[];
  readonly facts: readonly Fact[];
}

export function judge({ comparisons, facts }: Figures): Verdict[] {
  return (Object.keys(aims) as AimName[]).map((name) => {
    const comparison = comparisons.find(({ aim }) => aim === name);
    const fact = facts.find(({ aim }) => aim === name);
    const measured = (comparison && ratioOf(comparison)) ?? (fact && spreadOf(fact.values));
    return { ...aims[name], measured, ...verdictOf(aims[name], measured) };
  });
}

function verdictOf({ bound, limit }: Aim, measured: Ratio | undefined) {
  if (measured === undefined || !Number.isFinite(measured.median)) {
    return { isMissed: false, verdict: 'not measured' };
  }
  const margin = (bound === 'at least' ? 1 : -1) * (measured.median / limit - 1);
  const isMissed = margin < 0;
  const verdict = `${isMissed ? 'missed' : 'met'} by ${threeDigits(Math.abs(margin) * 100)} %`;
  return { isMissed, verdict };
}
