/** A second client in its own process, so that the work of the attacker does not slow it down. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Load, Order, Served } from './second-client-process.ts';
import type { AbusedServer } from './server.ts';

export class SecondClient {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start({ baseUrl, otherKey, pid }: AbusedServer): Promise<SecondClient> {
    const url = new URL('./second-client-process.ts', import.meta.url);
    const child = fork(url, [baseUrl, otherKey, `${pid}`], { execArgv: [] });
    await once(child, 'message');
    return new SecondClient(child);
  }

  begin(load: Load = 'light'): void {
    this.#order({ begin: load });
  }

  /** Ends after the current request. */
  async end(): Promise<Served> {
    const answered = once(this.#child, 'message');
    this.#order('end');
    const [served] = await answered;
    return served as Served;
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }

  #order(order: Order): void {
    this.#child.send(order);
  }
}
