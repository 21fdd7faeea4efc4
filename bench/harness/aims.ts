/** The aims: ratios within one run that Parley should reach. */
import type { Comparison } from './result.ts';
import { type Ratio, ratioOf, threeDigits } from './statistics.ts';

interface Aim {
  readonly what: string;
  readonly bound: 'at least' | 'at most';
  readonly ratio: number;
}

const atLeast = (ratio: number, what: string): Aim => ({ what, bound: 'at least', ratio });
const atMost = (ratio: number, what: string): Aim => ({ what, bound: 'at most', ratio });

export const aims = {
  plainByRelay: atLeast(0.7, 'chat plain, 64 connections, money durable: throughput against the bare relay'),
  plainByPortkey: atLeast(6, 'chat plain, 64 connections: throughput against Portkey’s gateway'),
  streamedByRelay: atMost(1.3, 'chat streamed: CPU an event against parse and edit'),
  grpcUnary: atMost(1.7, 'gRPC unary: CPU against bare grpc-js answering the same'),
  grpcStream: atMost(1.3, 'gRPC stream: CPU against bare grpc-js answering the same'),
  speechFirstByte: atMost(0.05, 'speech, 4,000 characters, mp3: first byte against the whole-text pipeline'),
  speechTotal: atMost(
    0.65,
    'speech, 4,000 characters, two idle cores: total time against the engine in one worker, not encoding',
  ),
  transcription: atMost(1.1, 'transcription: total time against recogniser and ffmpeg by hand'),
  streamMemory: atMost(1.15, 'memory after 1,000 streams ended, against before'),
} as const satisfies Record<string, Aim>;

export type AimName = keyof typeof aims;

export interface Verdict extends Aim {
  readonly name: AimName;
  readonly measured: Ratio | undefined;
  /** `met by 12 %`, `missed by 3 %`, `not measured`. */
  readonly verdict: string;
}

export function judge(comparisons: readonly Comparison[]): Verdict[] {
  return (Object.keys(aims) as AimName[]).map((name) => {
    const comparison = comparisons.find(({ aim }) => aim === name);
    const measured = comparison && ratioOf(comparison);
    return { name, ...aims[name], measured, verdict: verdictOf(aims[name], measured) };
  });
}

function verdictOf({ bound, ratio }: Aim, measured: Ratio | undefined): string {
  if (measured === undefined || !Number.isFinite(measured.median)) return 'not measured';
  const margin = (bound === 'at least' ? 1 : -1) * (measured.median / ratio - 1);
  return `${margin >= 0 ? 'met' : 'missed'} by ${threeDigits(Math.abs(margin) * 100)} %`;
}
