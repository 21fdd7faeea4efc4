/** Machines that are killed while they work for this one: no call without output is lost. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toParleyError } from '../../../src/core/values/errors.ts';
import { type Folder, type Serving, scratchFolder, serve } from '../../support/command-line.ts';
import { EngineNodes } from '../../support/engine-nodes.ts';
import { openRemote, type RemoteEngine, saying } from '../../support/remote-engine.ts';

/** The number of calls that run at once. */
const clients = 16;
/** Calls before and after each kill. */
const callsBetween = 80;

let nodes: EngineNodes;
let folder: Folder;
const machines: Serving[] = [];
beforeAll(async () => {
  nodes = await EngineNodes.prepare();
  folder = scratchFolder();
});
afterAll(async () => {
  await Promise.all(machines.map((machine) => machine.close()));
  await nodes.remove();
  folder.remove();
});

async function start(port = 0): Promise<Serving> {
  const machine = await serve(['--data-dir', nodes.newDataDir(), '--port', String(port)], {
    cwd: folder.path,
  });
  machines.push(machine);
  return machine;
}

const portOf = ({ baseUrl }: Serving) => Number(new URL(baseUrl).port);

/** Calls that failed before they had any output, with their reasons, and how many have ended. */
class Load {
  readonly lost: string[] = [];
  ended = 0;
  #isOver = false;
  readonly #all: Promise<unknown>;

  constructor(remote: RemoteEngine) {
    const calls = [whole, streamed, spoken];
    const client = async (first: number) => {
      for (let at = first; !this.#isOver; at++) await this.#run(calls[at % calls.length] ?? whole, remote);
    };
    this.#all = Promise.all(Array.from({ length: clients }, (_, index) => client(index)));
  }

  async #run(call: (remote: RemoteEngine) => AsyncIterable<unknown>, remote: RemoteEngine): Promise<void> {
    let hasOutput = false;
    try {
      for await (const _ of call(remote)) hasOutput = true;
    } catch (error) {
      const { code, message } = toParleyError(error);
      if (!hasOutput || code === 'internal_error') this.lost.push(`${call.name}: ${code}: ${message}`);
    }
    this.ended++;
  }

  async finish(): Promise<void> {
    this.#isOver = true;
    await this.#all;
  }
}

const never = new AbortController().signal;

/** The text of an answer, if the client got exactly one: an id, and a role for its only choice. */
async function* whole({ chat }: RemoteEngine): AsyncGenerator<unknown> {
  yield await chat.complete(saying(`I need ${randomBytes(500).toString('hex')}.`), never);
}

async function* streamed({ chat }: RemoteEngine): AsyncGenerator<unknown> {
  const ids = new Set<string>();
  let roles = 0;
  for await (const { id, choices } of chat.stream(saying('I am worried about my work.'), never)) {
    ids.add(id);
    if (choices.some(({ delta }) => delta?.role)) roles++;
    if (choices.some(({ delta }) => delta?.content)) yield id;
  }
  expect({ ids: ids.size, roles }).toEqual({ ids: 1, roles: 1 });
}

async function* spoken({ speech }: RemoteEngine): AsyncGenerator<unknown> {
  yield* speech.synthesize({ input: 'Hello.', voice: 'slt', format: 'pcm' }, never).audio;
}

it('one of two machines is killed repeatedly under load', async () => {
  const [a, b] = await Promise.all([start(), start()]);
  const address = `ipv4:127.0.0.1:${portOf(a)},127.0.0.1:${portOf(b)}`;
  const remote = openRemote({ address, apiKey: nodes.apiKey });
  await expect.poll(() => remote.speech.availability().available, { timeout: 20_000 }).toBe(true);
  const load = new Load(remote);
  let killed = a;
  for (let kills = 1; kills <= 3; kills++) {
    await expect.poll(() => load.ended, { timeout: 60_000 }).toBeGreaterThan(kills * callsBetween);
    killed.kill('SIGKILL');
    await killed.ended;
    await expect.poll(() => load.ended, { timeout: 60_000 }).toBeGreaterThan(kills * callsBetween + clients);
    killed = await start(portOf(killed));
  }
  await load.finish();
  await remote.close();
  expect(load.lost).toEqual([]);
}, 240_000);
