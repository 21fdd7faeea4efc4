/** One engine on several machines: calls are shared among available machines, and continue if some are not. */
import { create, toBinary } from '@bufbuild/protobuf';
import { Server, ServerCredentials, type ServerUnaryCall, type ServerWritableStream } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../../gen/health/v1/health_pb.ts';
import {
  ChatCompletionSchema,
  CreateChatCompletionResponseSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import type { EngineSet } from '../../../src/engines/engine-set.ts';
import { EngineNodes } from '../../support/engine-nodes.ts';
import { fakeChat, withFakes } from '../../support/fake-engines.ts';
import { openRemote, type RemoteEngine, saying } from '../../support/remote-engine.ts';

/** The time within which a restarted machine is found again. */
const soon = { timeout: 20_000 };

let nodes: EngineNodes;
const remotes: RemoteEngine[] = [];

beforeAll(async () => {
  nodes = await EngineNodes.prepare();
});
afterEach(() => Promise.all(remotes.splice(0).map((remote) => remote.close())));
afterAll(() => nodes.remove());

function open(address: string): RemoteEngine {
  const remote = openRemote({ address, apiKey: nodes.apiKey });
  remotes.push(remote);
  return remote;
}

const addressOf = (...machines: readonly { readonly port: number }[]) =>
  `ipv4:${machines.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;

/** A chat that answers with its own name, on demand only once it is released. */
function chatOf(name: string, until: Promise<void> = Promise.resolve()): Record<string, EngineSet> {
  const choices = [
    {
      message: { role: 'assistant', content: { value: { case: 'text' as const, value: name } } },
      finishReason: 'stop',
    },
  ];
  const completion = { choices, usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } };
  return withFakes({
    chat: fakeChat({
      complete: async ({ messages }) => {
        const value = messages[0]?.content?.value;
        if (value?.value === 'wait') await until;
        return create(ChatCompletionSchema, completion);
      },
    }),
  });
}

/** The name of the machine that answered, or the status of the failure. */
async function ask({ chat }: RemoteEngine, text = 'who are you?'): Promise<string> {
  try {
    const { choices } = await chat.complete(saying(text), AbortSignal.timeout(10_000));
    const value = choices[0]?.message?.content?.value;
    return value?.case === 'text' ? value.value : '';
  } catch (error) {
    if (error instanceof ParleyError) return `${error.code} ${error.httpStatus}`;
    throw error;
  }
}

async function askOften(remote: RemoteEngine, times: number): Promise<Record<string, number>> {
  const answers: Record<string, number> = {};
  for (let asked = 0; asked < times; asked++) {
    const name = await ask(remote);
    answers[name] = (answers[name] ?? 0) + 1;
  }
  return answers;
}

describe('an address', () => {
  it('of two machines shares the calls, continues with one when the other stops, and with both when it is back', async () => {
    const a = await nodes.start({ engines: chatOf('a') });
    let b = await nodes.start({ engines: chatOf('b') });
    const remote = open(addressOf(a, b));
    await expect.poll(() => askOften(remote, 4), soon).toEqual({ a: 2, b: 2 });
    expect(await askOften(remote, 20)).toEqual({ a: 10, b: 10 });

    await b.close();
    expect(await askOften(remote, 20)).toEqual({ a: 20 });

    b = await nodes.start({ engines: chatOf('b'), port: b.port });
    await expect.poll(() => askOften(remote, 4), soon).toEqual({ a: 2, b: 2 });
    await Promise.all([a.close(), b.close()]);
  });

  it('of two machines fails at once when both are gone, logs it once, and serves when one is back', async () => {
    let a = await nodes.start({ engines: chatOf('a') });
    const b = await nodes.start({ engines: chatOf('b') });
    const remote = open(addressOf(a, b));
    await expect.poll(() => askOften(remote, 4), soon).toEqual({ a: 2, b: 2 });

    await Promise.all([a.close(), b.close()]);
    expect(await ask(remote)).toBe('upstream_error 502');
    expect(await askOften(remote, 20)).toEqual({ 'upstream_error 502': 20 });
    expect(remote.logged.filter(({ level }) => level === 'warn')).toHaveLength(1);

    a = await nodes.start({ engines: chatOf('a'), port: a.port });
    await expect.poll(() => ask(remote), soon).toBe('a');
    expect(remote.logged.map(({ level }) => level)).toEqual(['info', 'warn', 'info']);
    await a.close();
  });

  it.each([
    ['to which nobody listens', '127.0.0.1:9'],
    ['that there is not', 'no-such-host.invalid:80'],
  ])('%s: a request has not run, so another engine may be tried', async (_, address) => {
    const { chat } = open(address);
    await expect(chat.complete(saying('x'), AbortSignal.timeout(10_000))).rejects.toMatchObject({
      code: 'upstream_error',
      httpStatus: 502,
      hasNotRun: true,
    });
  });

  it('sees no failure while the machines are restarted one by one', async () => {
    const begin = (name: string, port = 0) => nodes.start({ engines: chatOf(name), drainMs: 5_000, port });
    const started = [await begin('a'), await begin('b')];
    const remote = open(addressOf(...started));
    await expect.poll(() => askOften(remote, 4), soon).toEqual({ a: 2, b: 2 });
    const answers = new Set<string>();
    let isOver = false;
    const asking = Array.from({ length: 4 }, async () => {
      while (!isOver) answers.add(await ask(remote));
    });
    try {
      for (const [index, node] of started.entries()) {
        const name = index === 0 ? 'a' : 'b';
        await node.close();
        started[index] = await begin(name, node.port);
        await expect.poll(() => askOften(remote, 12), soon).toMatchObject({ [name]: expect.any(Number) });
      }
    } finally {
      isOver = true;
    }
    await Promise.all(asking);
    expect([...answers].sort()).toEqual(['a', 'b']);
    await Promise.all(started.map((node) => node.close()));
  });
});

describe('a machine that drains', () => {
  it('ends its calls and gets no new ones', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const a = await nodes.start({ engines: chatOf('a', promise), drainMs: 10_000 });
    const b = await nodes.start({ engines: chatOf('b', promise) });
    const remote = open(addressOf(a, b));
    await expect.poll(() => askOften(remote, 4), soon).toEqual({ a: 2, b: 2 });
    const running = [ask(remote, 'wait'), ask(remote, 'wait')];
    await new Promise((then) => setTimeout(then, 200));

    const closed = a.close();
    await new Promise((then) => setTimeout(then, 200));
    expect(await askOften(remote, 10)).toEqual({ b: 10 });

    resolve();
    expect((await Promise.all(running)).sort()).toEqual(['a', 'b']);
    await Promise.all([closed, b.close()]);
  });

  it('gets no calls while it reports that it does not serve, although its connection works', async () => {
    const sick = await SickServer.start('sick');
    const b = await nodes.start({ engines: chatOf('b') });
    const remote = open(addressOf(sick, b));
    await expect.poll(() => askOften(remote, 4), soon).toEqual({ sick: 2, b: 2 });

    sick.setStatus(ServingStatus.NOT_SERVING);
    await expect.poll(() => askOften(remote, 4), soon).toEqual({ b: 4 });
    expect(await askOften(remote, 20)).toEqual({ b: 20 });
    sick.setStatus(ServingStatus.SERVING);
    await expect.poll(() => askOften(remote, 4), soon).toEqual({ sick: 2, b: 2 });

    sick.setStatus(ServingStatus.NOT_SERVING);
    await b.close();
    await expect.poll(() => ask(remote), soon).toBe('upstream_error 502');
    sick.setStatus(ServingStatus.SERVING);
    await expect.poll(() => ask(remote), soon).toBe('sick');
    sick.close();
  });

  it('and then disappears does not count as serving in between', async () => {
    const sick = await SickServer.start('sick');
    const remote = open(addressOf(sick));
    await expect.poll(() => ask(remote), soon).toBe('sick');
    sick.setStatus(ServingStatus.NOT_SERVING);
    await expect.poll(() => ask(remote), soon).toBe('upstream_error 502');
    sick.close();
    await new Promise((then) => setTimeout(then, 200));
    const turns = remote.logged.filter(({ level }) => level !== 'error');
    expect(turns.map(({ level }) => level)).toEqual(['info', 'warn']);
  });

  it('is watched again after a server has ended the watch', async () => {
    const sick = await SickServer.start('sick');
    const remote = open(addressOf(sick));
    await expect.poll(() => ask(remote), soon).toBe('sick');
    sick.setStatus(ServingStatus.NOT_SERVING);
    await expect.poll(() => ask(remote), soon).toBe('upstream_error 502');
    sick.endWatches();
    expect(await ask(remote)).toBe('upstream_error 502');
    sick.setStatus(ServingStatus.SERVING);
    await expect.poll(() => ask(remote), soon).toBe('sick');
    sick.close();
  });
});

type WatchCall = ServerWritableStream<Buffer, Buffer>;

/** A server that answers chats and reports the health that the test sets. */
class SickServer {
  readonly #server: Server;
  readonly #watches = new Set<WatchCall>();
  #status: ServingStatus = ServingStatus.SERVING;
  readonly port: number;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  static async start(name: string): Promise<SickServer> {
    const server = new Server();
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    const sick = new SickServer(server, port);
    server.addService(
      { chat: methodOf('/parley.chat.v1.ChatService/CreateChatCompletion', false) },
      {
        chat: (_: ServerUnaryCall<Buffer, Buffer>, respond: (error: null, answer: Buffer) => void) =>
          respond(null, answerOf(name)),
      },
    );
    server.addService(
      { watch: methodOf('/grpc.health.v1.Health/Watch', true) },
      { watch: (call: WatchCall) => sick.#watch(call) },
    );
    return sick;
  }

  setStatus(status: ServingStatus): void {
    this.#status = status;
    for (const call of this.#watches) call.write(this.#response());
  }

  endWatches(): void {
    for (const call of this.#watches) call.end();
    this.#watches.clear();
  }

  close(): void {
    this.#server.forceShutdown();
  }

  #watch(call: WatchCall): void {
    this.#watches.add(call);
    call.on('cancelled', () => this.#watches.delete(call));
    call.write(this.#response());
  }

  #response(): Buffer {
    const status = this.#status;
    return Buffer.from(toBinary(HealthCheckResponseSchema, create(HealthCheckResponseSchema, { status })));
  }
}

const asIs = (bytes: Buffer) => bytes;

function methodOf(path: string, responseStream: boolean) {
  const codec = {
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
  return { path, requestStream: false, responseStream, ...codec };
}

function answerOf(name: string): Buffer {
  const content = { value: { case: 'text' as const, value: name } };
  const completion = { choices: [{ message: { role: 'assistant', content } }] };
  const response = create(CreateChatCompletionResponseSchema, { completion });
  return Buffer.from(toBinary(CreateChatCompletionResponseSchema, response));
}
