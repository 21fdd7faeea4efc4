/** Calls from one process to another, both ways over one channel. */
import type { Channel } from './channel.ts';
import { fromSent, type SentError, toSent } from './sent-error.ts';

/** What can be called from the other end, by name. Arguments and results are what structured clone takes. */
export type Functions = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;

interface Call {
  readonly id: number;
  readonly name: string;
  readonly args: readonly unknown[];
}

type Answer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: SentError };

/** What has come together in one turn goes in one message: a message costs more than what is in it. */
interface Parcel {
  readonly calls: readonly Call[];
  readonly answers: readonly Answer[];
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class Calls {
  readonly #channel: Channel;
  readonly #functions: Functions;
  readonly #waiting = new Map<number, Waiting>();
  readonly #drained: (() => void)[] = [];
  #calls: Call[] = [];
  #answers: Answer[] = [];
  #scheduled = false;
  #lastId = 0;
  #closed: Error | undefined;

  /** @param functions what the other end may call */
  constructor(channel: Channel, functions: Functions) {
    this.#channel = channel;
    this.#functions = functions;
    // Both ends are this class, so what arrives has its shape.
    channel.onMessage((parcel) => this.#take(parcel as Parcel));
  }

  /** Rejects with what the function throws there, or where there is nobody left to answer. Calls arrive in their order. */
  call(name: string, args: readonly unknown[]): Promise<unknown> {
    if (this.#closed) return Promise.reject(this.#closed);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const id = ++this.#lastId;
    this.#waiting.set(id, { resolve, reject });
    this.#calls.push({ id, name, args });
    this.#schedule();
    return promise;
  }

  /** Resolves when every call has been answered. */
  async drain(): Promise<void> {
    while (this.#waiting.size > 0) await new Promise<void>((resolve) => this.#drained.push(resolve));
  }

  /** The other end is gone: what waits for it, and whatever is called from now on, is rejected. */
  close(reason: Error): void {
    this.#closed = reason;
    for (const { reject } of this.#waiting.values()) reject(reason);
    this.#waiting.clear();
    this.#tellDrained();
  }

  #take({ calls, answers }: Parcel): void {
    for (const answer of answers) this.#settle(answer);
    for (const call of calls) void this.#run(call);
  }

  #settle(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ('error' in answer) waiting?.reject(fromSent(answer.error));
    else waiting?.resolve(answer.value);
    if (this.#waiting.size === 0) this.#tellDrained();
  }

  #tellDrained(): void {
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  async #run({ id, name, args }: Call): Promise<void> {
    const answer = await this.#answerTo(id, name, args);
    this.#answers.push(answer);
    this.#schedule();
  }

  async #answerTo(id: number, name: string, args: readonly unknown[]): Promise<Answer> {
    try {
      const run = Object.hasOwn(this.#functions, name) ? this.#functions[name] : undefined;
      if (run === undefined) throw new Error(`There is nothing to call by the name ${name}.`);
      return { id, value: await Reflect.apply(run, undefined, args) };
    } catch (error) {
      return { id, error: toSent(error) };
    }
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#scheduled = false;
    const parcel: Parcel = { calls: this.#calls, answers: this.#answers };
    this.#calls = [];
    this.#answers = [];
    if (this.#closed === undefined) this.#channel.send(parcel);
  }
}

/** The functions of the other end as if they were here. Their types are those that it gives them. */
export function callable<F extends object>(calls: Calls, names: readonly (keyof F & string)[]): F {
  const functions = names.map((name) => [name, (...args: unknown[]) => calls.call(name, args)]);
  return Object.fromEntries(functions) as F;
}
