import type { Log } from '../../core/values/log.ts';
import { createDurationProbe } from '../../media/probing/probe.ts';
import type { EngineSet } from '../engine-set.ts';
import { type ModelType, RemoteCatalog, type RemoteModel } from './catalog.ts';
import { createRemoteChat } from './chat.ts';
import { Calls } from './connection/calls.ts';
import { Connections, type ConnectionsSettings } from './connection/connections.ts';
import { createRemoteSpeech } from './speech.ts';
import { createRemoteTranscription } from './transcription.ts';

export interface RemoteSettings extends ConnectionsSettings {
  /** The remote's ids of models, by the ids of the catalog, where the two differ. */
  readonly models: Readonly<Record<string, string>>;
  readonly totalMs: number;
  readonly catalogEveryMs: number;
  /** Whether a call that was lost without output is repeated once. */
  readonly repeatLostCalls: boolean;
}

export interface RemoteDeps {
  /** The engine's name in the configuration, for the log. */
  readonly name: string;
  readonly apiKey: string | undefined;
  readonly log: Log;
  /** The headers that carry the trace of the running request. Default: none. */
  readonly traceHeaders?: (() => Readonly<Record<string, string>>) | undefined;
}

/**
 * Another Parley over gRPC. Connects at once and reads the remote's models in the background.
 * @throws if `tlsCa` cannot be read
 */
export function createRemoteEngine(
  settings: RemoteSettings,
  { name: engine, apiKey, log, traceHeaders }: RemoteDeps,
): EngineSet {
  const connections = new Connections(settings, { name: engine, log });
  const { totalMs, repeatLostCalls } = settings;
  const calls = new Calls(connections, { apiKey, traceHeaders, totalMs, repeatLostCalls });
  const catalog = new RemoteCatalog(calls, { engine, everyMs: settings.catalogEveryMs, log });
  const probe = createDurationProbe();
  const model = (id: string, type: ModelType): RemoteModel => {
    const name = settings.models[id] ?? id;
    catalog.expect(name, type);
    return { name, calls, catalog };
  };
  catalog.start();
  return {
    speech: (id) => createRemoteSpeech(model(id, 'speech')),
    transcription: (id) => createRemoteTranscription(model(id, 'transcription'), probe),
    chat: (id) => createRemoteChat(model(id, 'chat')),
    reading: () => ({ isUp: connections.isUp, waiting: 0 }),
    close: async () => {
      catalog.close();
      connections.close();
      await probe.close();
    },
  };
}
