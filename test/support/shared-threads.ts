/**
 * The token counter and the builtin engine that all servers of a test process share. Their threads take half a second of
 * CPU time and more until they have loaded the vocabulary, the voices and the acoustic model.
 */
import { isDeepStrictEqual } from 'node:util';
import type { AppOverrides } from '../../src/app/create-app.ts';
import { type Config, loadConfig } from '../../src/config/config.ts';
import { systemClock } from '../../src/core/values/clock.ts';
import { createBuiltinChat } from '../../src/engines/builtin/chat.ts';
import { createBuiltinEngine } from '../../src/engines/builtin/index.ts';
import type { EngineSet } from '../../src/engines/engine-set.ts';
import { createTokenCounter } from '../../src/tokens/counter.ts';

const tokens = createTokenCounter();

/** A server with other settings of the engine gets an engine of its own. */
const { engines } = loadConfig({ env: {} });
const settings = Object.values(engines).find(({ kind }) => kind === 'builtin');
const engine =
  settings?.kind === 'builtin' &&
  // A second recogniser would take 100 to 250 MB of a worker.
  createBuiltinEngine({ ...settings, recognizers: 1 }, { tokens, clock: systemClock });

/** Overrides for a server with this configuration. The threads end when they are idle, as in a server. */
export function sharedThreads(
  config: Config,
  { clock = systemClock }: AppOverrides,
): Pick<AppOverrides, 'tokens' | 'engines'> {
  if (engine === false) return { tokens };
  const chat = createBuiltinChat({ tokens, clock: () => clock.now() });
  const shared: EngineSet = { ...engine, chat: () => chat, close: async () => undefined };
  const names = Object.keys(config.engines).filter((name) =>
    isDeepStrictEqual(config.engines[name], settings),
  );
  return { tokens, engines: Object.fromEntries(names.map((name) => [name, shared])) };
}
