/** Several apps on one data folder, as the workers of a server are, but in the process of the test: they share its engines and clock. */
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { openData } from '../../src/app/data.ts';
import { type App, type AppOverrides, createApp } from '../../src/app.ts';
import { Calls } from '../../src/cluster/calls.ts';
import { KeptHolders } from '../../src/cluster/kept-holders.ts';
import { remoteStore } from '../../src/cluster/remote-store.ts';
import { StoreSession } from '../../src/cluster/store-session.ts';
import type { Config } from '../../src/config.ts';
import { FailedKeys } from '../../src/core/failed-keys.ts';
import { systemClock } from '../../src/core/ports/clock.ts';
import type { Store } from '../../src/core/ports/store.ts';
import { createLog } from '../../src/log.ts';
import { portChannel } from './port-channel.ts';

export interface SeveralApps {
  readonly apps: readonly App[];
  close(): Promise<void>;
}

export async function startSeveral(
  config: Config,
  overrides: AppOverrides,
  count: number,
): Promise<SeveralApps> {
  const { clock = systemClock, log = createLog('silent'), openStore } = overrides;
  const opened = new AsyncDisposableStack();
  const store = await openData(config, { clock, log, openStore }, opened);
  const apps: App[] = [];
  const holders: KeptHolders[] = [];
  for (let slot = 1; slot <= count; slot++) {
    const app = await createApp(config, {
      ...overrides,
      shared: {
        store: storeAcross(store, holders, opened),
        failedKeys: new FailedKeys(0),
        scratchDir: join(config.dataDir, 'scratch', String(slot)),
        whyNotReady: async () => undefined,
        metricsText: async () => '',
      },
    });
    opened.defer(() => app.close());
    apps.push(app);
  }
  return { apps, close: () => opened.disposeAsync() };
}

/** The store at the other end of a channel. */
function storeAcross(store: Store, all: KeptHolders[], opened: AsyncDisposableStack): Store {
  const { port1, port2 } = new MessageChannel();
  const own = new KeptHolders();
  all.push(own);
  const forget = async () => {
    for (const holders of all) holders.forgetAll();
  };
  new Calls(portChannel(port1), { ...new StoreSession(store, forget).operations });
  opened.defer(() => port1.close());
  return remoteStore(new Calls(portChannel(port2), {}), own);
}
