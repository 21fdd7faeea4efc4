/**
 * Runs an attack: once alone, to measure its cost in the server, and once beside a second client, to measure how that
 * is affected.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from '../attack.ts';
import { type Aims, aimsOf } from './aims.ts';
import type { SecondClient } from './second-client.ts';
import type { AbusedServer } from './server.ts';
import { Target } from './target.ts';

export interface Cost {
  /** Processor time of the event loop for one request or connection. */
  readonly loopMs: number;
  /** The longest time in which the loop served nobody. */
  readonly blockMs: number;
  /** Peak memory for one request or connection, above the memory before and above the need of honest requests. */
  readonly memoryMiB: number;
  /** The longest time that a request of the second client took. */
  readonly secondMs: number;
}

/** The same on a server without attacks. */
export interface Quiet {
  /** Processor time of the loop per millisecond. */
  readonly loopShare: number;
  readonly secondMs: number;
  /** Peak of the memory above the memory after a garbage collection, while the second client is served. */
  readonly memoryMiB: number;
}

export interface Measured {
  readonly attack: Attack;
  /** The smallest value of all runs. */
  readonly cost: Cost | undefined;
  /** The missed aims; empty if all are met. */
  readonly misses: readonly string[];
}

const quietMs = 1_500;
const mebibyte = 1024 * 1024;

export async function measureQuiet(server: AbusedServer, second: SecondClient): Promise<Quiet> {
  const before = await server.ask({ ask: 'collect' });
  await sleep(quietMs);
  const after = await server.ask({ ask: 'read' });
  await server.ask({ ask: 'collect' });
  const rssBefore = startPeak(server.pid);
  second.begin();
  await sleep(quietMs);
  const { worstMs, failures } = await second.end();
  if (failures.length > 0) throw new Error(`Nobody attacks, and the second client fails: ${failures[0]}`);
  return {
    loopShare: (after.loopCpuMs - before.loopCpuMs) / quietMs,
    secondMs: worstMs,
    memoryMiB: Math.max(0, memoryOf(server.pid).peakMiB - rssBefore),
  };
}

/** Repeats an attack that misses an aim: other programs may have been busy. */
export async function measure(
  attack: Attack,
  server: AbusedServer,
  second: SecondClient,
  quiet: Quiet,
  playsMax: number,
): Promise<Measured> {
  let cost: Cost | undefined;
  let misses: string[] = [];
  for (let plays = 0; plays < playsMax; plays++) {
    try {
      if (attack.isApart) {
        await play(attack, server);
        return { attack, cost, misses: [] };
      }
      // The machine may have become busier.
      if (plays > 0) quiet = await measureQuiet(server, second);
      cost = least(cost, await playBoth(attack, server, second, quiet));
      misses = missesOf(cost, aimsOf(attack), quiet);
    } catch (error) {
      misses = [error instanceof Error ? error.message : String(error)];
    }
    if (misses.length === 0 || server.exit !== undefined) break;
  }
  return { attack, cost, misses };
}

async function playBoth(
  attack: Attack,
  server: AbusedServer,
  second: SecondClient,
  quiet: Quiet,
): Promise<Cost> {
  const { connections = 1, requests = connections } = attack;
  const before = await server.ask({ ask: 'collect' });
  const rssBefore = startPeak(server.pid);
  const startedAt = performance.now();
  await play(attack, server);
  const after = await server.ask({ ask: 'read' });
  const idleMs = quiet.loopShare * (performance.now() - startedAt);
  const loopMs = Math.max(0, after.loopCpuMs - before.loopCpuMs - idleMs) / requests;
  const grownMiB = memoryOf(server.pid).peakMiB - rssBefore;
  const memoryMiB = Math.max(0, grownMiB - quiet.memoryMiB) / connections;
  second.begin();
  let served: Awaited<ReturnType<SecondClient['end']>>;
  try {
    await play(attack, server);
  } finally {
    served = await second.end();
  }
  const beside = await server.ask({ ask: 'read' });
  const [failure] = served.failures;
  if (failure !== undefined) {
    const requests = served.ids.length + served.failures.length;
    throw new Error(`${served.failures.length} of ${requests} requests beside it failed: ${failure}`);
  }
  const blockMs = Math.max(after.longestBlockMs, beside.longestBlockMs);
  return { loopMs, blockMs, memoryMiB, secondMs: served.worstMs };
}

export async function play(attack: Attack, server: AbusedServer): Promise<void> {
  const target = new Target(server);
  try {
    await attack.play(target);
  } finally {
    target.release();
  }
}

function least(before: Cost | undefined, now: Cost): Cost {
  if (before === undefined) return now;
  return {
    loopMs: Math.min(before.loopMs, now.loopMs),
    blockMs: Math.min(before.blockMs, now.blockMs),
    memoryMiB: Math.min(before.memoryMiB, now.memoryMiB),
    secondMs: Math.min(before.secondMs, now.secondMs),
  };
}

function missesOf(cost: Cost, aims: Aims, quiet: Quiet): string[] {
  const misses: string[] = [];
  const check = (what: string, value: number, max: number, unit: string) => {
    if (value > max) misses.push(`${what} ${value.toFixed(1)} ${unit}, at most ${max.toFixed(0)}`);
  };
  check('event loop', cost.loopMs, aims.loopMs, 'ms');
  check('blocked for', cost.blockMs, aims.blockMs, 'ms');
  check('memory', cost.memoryMiB, aims.memoryMiB, 'MiB');
  check('a second client waited', cost.secondMs, aims.blockMs + quiet.secondMs, 'ms');
  return misses;
}

/** Resets the peak, and returns the resident memory in MiB. */
function startPeak(pid: number): number {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  return memoryOf(pid).rssMiB;
}

export function memoryOf(pid: number): { readonly rssMiB: number; readonly peakMiB: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const inMiB = (name: string) =>
    (Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024) / mebibyte;
  return { rssMiB: inMiB('VmRSS'), peakMiB: inMiB('VmHWM') };
}
