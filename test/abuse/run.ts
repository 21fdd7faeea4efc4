/**
 * Attacks the real server on 127.0.0.1 and reports the cost of each attack. bench/attacks.md lists the aims and the figures.
 *
 *   npm run abuse                        every attack
 *   npm run abuse -- --only HTTP/2       the classes and attacks whose names contain it
 *   npm run abuse -- --once              no second and third play of what misses an aim
 *   npm run abuse -- --minutes 10        attacks at random for ten minutes, beside honest clients
 *   npm run abuse -- --seed 7            the same order of attacks
 *
 * Exit codes: 0 all aims are met, 1 one is missed, 2 wrong options.
 */
import { parseArgs } from 'node:util';
import { Random } from '../support/random.ts';
import type { AttackClass } from './attack.ts';
import { attackClasses } from './attacks/index.ts';
import { type Measured, measure, measureQuiet, type Quiet } from './harness/measure.ts';
import { SecondClient } from './harness/second-client.ts';
import { AbusedServer } from './harness/server.ts';
import { survive } from './harness/survive.ts';

const playsMax = 3;
const print = (line: string) => process.stdout.write(`${line}\n`);

function chosen(only: string | undefined): AttackClass[] {
  if (only === undefined) return [...attackClasses];
  return attackClasses
    .map(({ title, attacks }) => ({
      title,
      attacks: attacks.filter(({ name }) => title.includes(only) || name.includes(only)),
    }))
    .filter(({ attacks }) => attacks.length > 0);
}

class Stage {
  server: AbusedServer;
  second: SecondClient;
  quiet: Quiet;

  private constructor(server: AbusedServer, second: SecondClient, quiet: Quiet) {
    this.server = server;
    this.second = second;
    this.quiet = quiet;
  }

  /** Starts a server and warms it up. */
  static async set(): Promise<Stage> {
    const server = await AbusedServer.start();
    const second = await SecondClient.start(server);
    await measureQuiet(server, second);
    return new Stage(server, second, await measureQuiet(server, second));
  }

  readonly clear = async (): Promise<void> => {
    await this.second.stop();
    await this.server.stop();
  };
}

interface Options {
  readonly only?: string;
  readonly once: boolean;
  readonly minutes?: number | undefined;
  readonly seed: number;
}

async function playEach({ only, once }: Options): Promise<number> {
  let stage = await Stage.set();
  const measured: Measured[] = [];
  for (const { title, attacks } of chosen(only)) {
    print(`\n## ${title}\n`);
    for (const attack of attacks) {
      const result = await measure(attack, stage.server, stage.second, stage.quiet, once ? 1 : playsMax);
      measured.push(result);
      print(lineOf(result));
      if (stage.server.exit !== undefined) {
        await stage.clear();
        stage = await Stage.set();
      }
    }
  }
  await stage.clear();
  const missed = measured.filter(({ misses }) => misses.length > 0);
  print(`\n${measured.length - missed.length} attacks met the aims, ${missed.length} missed`);
  return missed.length > 0 ? 1 : 0;
}

async function playAtRandom({ only, minutes = 0, seed }: Options): Promise<number> {
  const { server, second, clear } = await Stage.set();
  const attacks = chosen(only)
    .flatMap((each) => each.attacks)
    .filter(({ isApart }) => !isApart);
  const say = (line: string) => process.stderr.write(`  ${line}\n`);
  const random = new Random(seed);
  const survived = await survive(server, second, { attacks, forMs: minutes * 60_000, random, say });
  await clear();
  const { honest, worstMs, beforeMiB, afterMiB, misses } = survived;
  print(
    `${survived.attacks} attacks in ${minutes} minutes (--seed ${seed}); ${honest} honest requests were served`,
  );
  print(
    `the longest took ${worstMs.toFixed(0)} ms; memory ${beforeMiB.toFixed(0)} MiB before, ${afterMiB.toFixed(0)} after`,
  );
  for (const miss of misses) print(`MISSED: ${miss}`);
  return misses.length > 0 ? 1 : 0;
}

function lineOf({ attack, cost, misses }: Measured): string {
  const figures =
    cost === undefined
      ? ''
      : `${cost.loopMs.toFixed(1)} ms, block ${cost.blockMs.toFixed(0)} ms, ${cost.memoryMiB.toFixed(1)} MiB, second client ${cost.secondMs.toFixed(0)} ms`;
  const verdict = misses.length === 0 ? 'met' : `MISSED: ${misses.join('; ')}`;
  return `${attack.name} (${attack.by}): ${figures} ${verdict}`;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      once: { type: 'boolean', default: false },
      minutes: { type: 'string' },
      seed: { type: 'string' },
    },
  });
  const minutes = values.minutes === undefined ? undefined : Number(values.minutes);
  const seed = Number(values.seed ?? Date.now() % 2 ** 32);
  const numbers = [minutes ?? 0, seed];
  if (numbers.some((each) => !(each >= 0))) throw new Error('--minutes and --seed must be numbers');
  return { ...values, minutes, seed };
}

let options: Options;
try {
  options = readOptions();
  if (chosen(options.only).length === 0) throw new Error(`No attack has ${options.only} in its name`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(2);
}
process.exit(await (options.minutes === undefined ? playEach(options) : playAtRandom(options)));
