/** Runs scenarios, two at a time. The same seed gives the same order. */
import { inspect } from 'node:util';
import { Random } from '../support/random.ts';
import type { Round, Scenario } from './scenario.ts';

const roundMsMax = 20 * 60_000;
const foundLengthMax = 4_000;
/** Most of a round is waiting: for a start, a lease or a silent network to end. */
const roundsAtOnce = 2;

export interface CampaignOptions {
  /** How long new rounds start. Each scenario runs at least once. */
  readonly forMs: number;
  readonly seed: number;
  readonly print: (line: string) => void;
  /** Whether no further round starts. */
  readonly isStopped?: () => boolean;
}

export interface Outcome {
  readonly rounds: number;
  readonly kills: number;
  readonly failed: number;
}

/** The first round has the seed of the campaign, so that a failed round can be repeated by its seed. */
export async function runCampaign(
  scenarios: Readonly<Record<string, Scenario>>,
  { forMs, seed, print, isStopped = () => false }: CampaignOptions,
): Promise<Outcome> {
  const able = Object.keys(scenarios).filter((name) => scenarios[name]?.missing === undefined);
  const random = new Random(seed);
  const deadline = performance.now() + forMs;
  let [rounds, kills, failed] = [0, 0, 0];
  let hand: string[] = [];
  let nextSeed = seed;
  const goesOn = () => !isStopped() && (rounds < able.length || performance.now() < deadline);
  const playOn = async () => {
    while (goesOn()) {
      if (hand.length === 0) hand = [...able];
      const [name = ''] = hand.splice(random.below(hand.length), 1);
      const scenario = scenarios[name];
      if (scenario === undefined) return;
      const roundSeed = nextSeed;
      nextSeed = random.below(2 ** 32);
      rounds++;
      const sinceMs = performance.now();
      const { killed, said, error } = await playRound(scenario, new Random(roundSeed));
      kills += killed;
      if (error !== undefined) failed++;
      const seconds = ((performance.now() - sinceMs) / 1000).toFixed(1);
      const again = `--only ${name} --seed ${roundSeed}`;
      print(`${error === undefined ? 'held  ' : 'FAILED'} ${again}: ${killed} kills, ${seconds} s; ${said}`);
      if (error !== undefined) print(textOf(error));
    }
  };
  await Promise.all(Array.from({ length: roundsAtOnce }, playOn));
  return { rounds, kills, failed };
}

async function playRound(scenario: Scenario, random: Random) {
  const undone: (() => unknown)[] = [];
  const round: Round = { random, kills: 0, defer: (undo) => undone.unshift(undo) };
  let [said, error]: [string, unknown] = ['', undefined];
  const timer = Promise.withResolvers<never>();
  const timeout = setTimeout(() => timer.reject(new Error('The round does not end.')), roundMsMax);
  try {
    said = await Promise.race([scenario.play(round), timer.promise]);
  } catch (failure) {
    error = failure ?? new Error('failed');
  }
  clearTimeout(timeout);
  for (const undo of undone) {
    try {
      await undo();
    } catch (failure) {
      error ??= failure;
    }
  }
  return { killed: round.kills, said, error };
}

/** Includes the actual value, of which the message only has an outline. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const found = 'actual' in error ? `\n${inspect(error.actual, { depth: 4 }).slice(0, foundLengthMax)}` : '';
  return `${error.stack ?? error.message}${found}`;
}
