/** Clients that use a server and remember its answers. They must not be cheated. */
import { setTimeout as sleep } from 'node:timers/promises';
import { GrpcChat, GrpcError } from './grpc-chat.ts';
import type { Random } from './random.ts';

export interface Server {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly adminKey: string;
  /** A key of the account whose every request has an Idempotency-Key and is repeated until it is answered. */
  readonly carefulKey: string;
  /** A key with a budget that is soon spent. */
  readonly frugalKey: string;
}

/** A request with a complete answer. */
export interface Answered {
  readonly id: string;
  readonly operation: 'chat' | 'speech';
  /** For chat: tokens of the prompt and of the answer. */
  readonly usage: readonly [number, number] | undefined;
}

/** A request that is repeated under a key until it is answered. */
interface Errand {
  readonly kind: 'load' | 'careful';
  readonly key: string;
}

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

const sentences = ['I am worried about my work.', 'Hello.', 'My mother does not listen to me.', 'Why?'];
const clientsAtOnce = 8;
/** Messages of fetch for a connection that is refused or ends during an answer. */
const lostConnection = new Set(['fetch failed', 'terminated']);
/** The pause of a client after a lost connection. */
const lostMs = 50;
const loadedCredits = '0.001';
const jsonType = { 'content-type': 'application/json' };

export class PayingClients {
  readonly #random: Random;
  readonly answered: Answered[] = [];
  /** Keys of answered errands. */
  readonly done: Record<Errand['kind'], Set<string>> = { load: new Set(), careful: new Set() };
  /** Errands without an answer yet. */
  readonly #open = new Set<Errand>();
  /** Answers that clients should not get. */
  readonly surprises: string[] = [];
  /** Answers that `mayRefuse` allows. */
  refusals = 0;
  lastRefusal = 'none was refused';
  /** Chats that the rest of a budget did not cover. */
  overBudget = 0;
  readonly #mayRefuse: (status: number) => boolean;
  readonly #name: string;
  readonly #grpc = new GrpcChat();
  #errands = 0;

  /**
   * @param mayRefuse whether a status other than 200 is allowed. Default: never
   * @param name begins the keys of their errands
   */
  constructor(random: Random, mayRefuse: (status: number) => boolean = () => false, name = '') {
    this.#random = random;
    this.#mayRefuse = mayRefuse;
    this.#name = name;
  }

  /** The number of errands of a kind that wait for their answer. */
  open(kind: Errand['kind']): number {
    return [...this.#open].filter((errand) => errand.kind === kind).length;
  }

  /** Repeats unanswered errands first. Resolves when the server stops answering. */
  async useUntilGone(server: Server): Promise<void> {
    const use = async () => {
      while (await this.#survives(() => this.#useOnce(server)));
    };
    await this.finishErrands(server);
    await Promise.all(Array.from({ length: clientsAtOnce }, use));
  }

  /** Uses a server that may lose connections, as long as `goesOn`. */
  async useWhile(server: Server, goesOn: () => boolean): Promise<void> {
    const use = async () => {
      while (goesOn()) if (!(await this.#survives(() => this.#useOnce(server)))) await sleep(lostMs);
    };
    await Promise.all(Array.from({ length: clientsAtOnce }, use));
  }

  async finishErrands(server: Server): Promise<void> {
    const open = [...this.#open];
    await Promise.all(open.map((errand) => this.#survives(() => this.#run(errand, server))));
  }

  /** False if the connection was lost. */
  async #survives(use: () => Promise<void>): Promise<boolean> {
    try {
      await use();
      return true;
    } catch (error) {
      if (error instanceof Refused) return true;
      if (error instanceof Error && lostConnection.has(error.message)) return false;
      throw error;
    }
  }

  #useOnce(server: Server): Promise<void> {
    switch (
      this.#random.pick([
        ...(['plain', 'plain', 'grpc', 'stream', 'stream', 'stream', 'speech'] as const),
        ...(['load', 'careful', 'frugal'] as const),
      ])
    ) {
      case 'plain':
        return this.#chat(server);
      case 'grpc':
        return this.#chatByGrpc(server);
      case 'stream':
        return this.#stream(server);
      case 'speech':
        return this.#speak(server);
      case 'frugal':
        return this.#chatFrugally(server);
      case 'load':
        return this.#run(this.#newErrand('load'), server);
      default:
        return this.#run(this.#newErrand('careful'), server);
    }
  }

  async #chat(server: Server): Promise<void> {
    const response = await this.#post(server, '/chat/completions', server.apiKey, this.#conversation());
    const { usage } = (await response.json()) as { usage: Usage };
    this.#note(response, 'chat', usage);
  }

  /** A refusal is expected once the budget is spent. */
  async #chatFrugally(server: Server): Promise<void> {
    const response = await this.#fetch(server, '/chat/completions', server.frugalKey, this.#conversation());
    const answer = (await response.json()) as { usage: Usage; error?: { code: string } };
    if (answer.error?.code === 'budget_exceeded') this.overBudget++;
    else if (response.ok) this.#note(response, 'chat', answer.usage);
    else this.#refused(response.status, JSON.stringify(answer));
  }

  async #chatByGrpc({ baseUrl, apiKey }: Server): Promise<void> {
    try {
      const { id, usage } = await this.#grpc.ask(baseUrl, apiKey, this.#conversation());
      this.answered.push({ id, operation: 'chat', usage });
    } catch (error) {
      if (!(error instanceof GrpcError)) throw error;
      this.#refused(error.status, error.message);
    }
  }

  async #stream(server: Server): Promise<void> {
    const options = this.#random.onceIn(2) ? { stream_options: { include_usage: true } } : {};
    const body = { ...this.#conversation(), ...options, stream: true };
    const response = await this.#post(server, '/chat/completions', server.apiKey, body);
    if (this.#random.onceIn(5)) return leaveAfterOnePart(response);
    const isEvent = (text: string) => text !== '' && !text.startsWith(':');
    const events = (await response.text()).split('\n\n').filter(isEvent);
    if (events.at(-1) !== 'data: [DONE]') throw new Error('terminated');
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event.slice('data: '.length)));
    const usages: Usage[] = chunks.flatMap(({ usage }) => usage ?? []);
    if (usages.length !== 1) this.surprises.push(`${usages.length} usages in ${events.join(' ')}`);
    this.#note(response, 'chat', usages[0]);
  }

  async #speak(server: Server): Promise<void> {
    const body = {
      model: 'flite',
      input: 'Hello there.',
      response_format: this.#random.pick(['wav', 'pcm', 'mp3']),
    };
    const response = await this.#post(server, '/audio/speech', server.apiKey, body);
    await response.arrayBuffer();
    this.#note(response, 'speech', undefined);
  }

  #newErrand(kind: Errand['kind']): Errand {
    return { kind, key: `${this.#name}${kind}-${++this.#errands}` };
  }

  async #run(errand: Errand, server: Server): Promise<void> {
    this.#open.add(errand);
    const { kind, key } = errand;
    if (kind === 'load') {
      const entry = { amount: loadedCredits, reason: 'test', idempotency_key: key };
      const response = await this.#post(server, '/admin/accounts/demo/credits', server.adminKey, entry);
      await response.arrayBuffer();
    } else {
      const body = { ...talk('Hello.'), max_tokens: 50 };
      const headers = { 'idempotency-key': key };
      const response = await this.#post(server, '/chat/completions', server.carefulKey, body, headers);
      await response.arrayBuffer();
    }
    this.#open.delete(errand);
    this.done[kind].add(key);
  }

  #conversation() {
    return { ...talk(this.#random.pick(sentences)), ...(this.#random.onceIn(3) && { max_tokens: 5 }) };
  }

  #note(response: Response, operation: Answered['operation'], usage: Usage | undefined): void {
    const id = response.headers.get('x-request-id') ?? 'without an id';
    const tokens = usage && ([usage.prompt_tokens, usage.completion_tokens] as const);
    if (response.ok) this.answered.push({ id, operation, usage: tokens });
  }

  /** Repeats a request that was sent while its idle connection was closed. Such a request has not run. */
  async #fetch(
    { baseUrl }: Server,
    path: string,
    key: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    for (;;) {
      const response = await fetch(baseUrl + path, {
        method: 'POST',
        headers: { ...jsonType, ...headers, authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
      });
      if (response.status !== 408) return response;
      await response.arrayBuffer();
    }
  }

  async #post(
    server: Server,
    path: string,
    key: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const response = await this.#fetch(server, path, key, body, headers);
    if (!response.ok) this.#refused(response.status, `${path} ${await response.text()}`);
    return response;
  }

  #refused(status: number, message: string): never {
    if (this.#mayRefuse(status)) this.refusals++;
    else this.surprises.push(`${status} ${message}`);
    this.lastRefusal = `${status} ${message}`;
    throw new Refused();
  }
}

/** The server has answered with an error. */
class Refused extends Error {}

function talk(content: string) {
  return { model: 'eliza', messages: [{ role: 'user', content }] };
}

async function leaveAfterOnePart(response: Response): Promise<void> {
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
}
