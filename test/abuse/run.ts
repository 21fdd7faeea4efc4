/**
 * Attacks the real server on 127.0.0.1 and tells what each attack costs. README.md in this folder describes it.
 *
 *   npm run abuse                        every attack
 *   npm run abuse -- --only HTTP/2       the classes and attacks whose names contain it
 *   npm run abuse -- --once               no second and third play of what misses an aim
 *
 * Exit codes: 0 all aims are met, 1 one is missed, 2 wrong options.
 */
import { parseArgs } from 'node:util';
import type { AttackClass } from './attack.ts';
import { attackClasses } from './attacks/index.ts';
import { type Measured, measure, measureQuiet, type Quiet } from './harness/measure.ts';
import { SecondClient } from './harness/second-client.ts';
import { AbusedServer } from './harness/server.ts';

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

  async clear(): Promise<void> {
    await this.second.stop();
    await this.server.stop();
  }
}

async function main({ only, once }: { readonly only?: string; readonly once: boolean }): Promise<number> {
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

function lineOf({ attack, cost, misses }: Measured): string {
  const figures =
    cost === undefined
      ? ''
      : `${cost.loopMs.toFixed(1)} ms, block ${cost.blockMs.toFixed(0)} ms, ${cost.memoryMiB.toFixed(1)} MiB, second client ${cost.secondMs.toFixed(0)} ms`;
  const verdict = misses.length === 0 ? 'met' : `MISSED: ${misses.join('; ')}`;
  return `${attack.name} (${attack.by}): ${figures} ${verdict}`;
}

const options = { only: { type: 'string' }, once: { type: 'boolean', default: false } } as const;
const { values } = parseArgs({ options });
process.exit(await main(values));
