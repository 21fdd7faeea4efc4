/** The process of a worker: the app, with the leader's store, until it is told to stop or the leader is gone. */
import { join } from 'node:path';
import { type App, createApp, type PreparedReload } from '../app.ts';
import { Calls, callable } from '../cluster/calls.ts';
import { ipcChannel } from '../cluster/channel.ts';
import { KeptHolders } from '../cluster/kept-holders.ts';
import { remoteStore } from '../cluster/remote-store.ts';
import { type Leader, leaderCalls, leaderServices, type Worker } from '../cluster/roles.ts';
import { toSent } from '../cluster/sent-error.ts';
import { createLog } from '../log.ts';
import { fromWorkerSettings, type WorkerSettings } from './worker-settings.ts';

type ToLeader = Pick<Leader<WorkerSettings>, (typeof leaderCalls)[number] | (typeof leaderServices)[number]>;

export async function runWorker(): Promise<void> {
  endWithLeader();
  const role = new WorkerRole();
  const calls = new Calls(ipcChannel(process), role.functions());
  const leader = callable<ToLeader>(calls, [...leaderCalls, ...leaderServices]);
  const { slot, settings } = await leader.join();
  const config = fromWorkerSettings(settings);
  const log = createLog(config.log.level, { worker: slot });
  const shared = {
    store: remoteStore(calls, role.holders),
    failedKeys: { note: leader.noteFailedKey },
    scratchDir: join(config.dataDir, 'scratch', `worker-${slot}`),
    whyNotReady: leader.whyNotReady,
    metricsText: leader.metricsText,
  };
  try {
    const app = await createApp(config, { log, shared });
    role.begin(app, log);
    const { baseUrl, adminBaseUrl } = app;
    await leader.ready({ baseUrl, adminBaseUrl, unavailable: app.unavailable() });
  } catch (error) {
    await leader.failed(toSent(error));
    endProcess();
  }
}

/** Whom a terminal or a service manager tells to stop is told by the leader, in its time. */
function endWithLeader(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  // Before that of node:cluster, which ends the process as if all were well.
  process.prependListener('disconnect', endProcess);
}

/**
 * At once, once all that waits for the end has been told. Node's own end may wait for ever for a thread that compiles, which waits
 * for a collection of the thread that ends (nodejs/node#54918). Nobody looks at the exit code: the leader knows, or is gone.
 */
function endProcess(): void {
  process.on('exit', () => process.kill(process.pid, 'SIGKILL'));
  process.exit();
}

class WorkerRole {
  readonly holders = new KeptHolders();
  #app: App | undefined;
  #log: ReturnType<typeof createLog> | undefined;
  #prepared: { readonly reload: PreparedReload; readonly logLevel: string } | undefined;

  begin(app: App, log: ReturnType<typeof createLog>): void {
    this.#app = app;
    this.#log = log;
  }

  functions() {
    const functions: Worker<WorkerSettings> = {
      prepareReload: async (settings) => {
        const config = fromWorkerSettings(settings);
        this.#prepared = { reload: this.#begun.member.prepareReload(config), logLevel: config.log.level };
      },
      takeReload: async () => this.#takeReload(),
      dropReload: async () => {
        this.#prepared?.reload.drop();
        this.#prepared = undefined;
      },
      forgetHolders: async () => this.holders.forgetAll(),
      whyNotReady: async () => this.#begun.member.whyNotReady(),
      metrics: () => this.#begun.member.metrics.snapshot(),
      stop: async () => {
        try {
          await this.#begun.close();
        } catch (error) {
          this.#log?.error({ err: error }, 'the worker could not close everything');
        }
        endProcess();
      },
    };
    return { ...functions };
  }

  get #begun(): App {
    if (this.#app) return this.#app;
    throw new Error('This worker has not started.');
  }

  #takeReload() {
    const prepared = this.#prepared;
    if (prepared === undefined) throw new Error('There is nothing to take over.');
    this.#prepared = undefined;
    prepared.reload.take();
    if (this.#log) this.#log.level = prepared.logLevel;
    return this.#begun.unavailable();
  }
}
