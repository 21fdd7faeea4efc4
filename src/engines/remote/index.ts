import type { Log } from '../../core/ports/log.ts';
import { createDurationProbe } from '../../media/probing/probe.ts';
import type { EngineSet } from '../engine-set.ts';
import { Calls } from './calls.ts';
import { type ModelType, RemoteCatalog } from './catalog.ts';
import { createRemoteChat } from './chat.ts';
import { Connections, type ConnectionsSettings } from './connections.ts';
import type { RemoteModel } from './model.ts';
import { createRemoteSpeech } from './speech.ts';
import { createRemoteTranscription } from './transcription.ts';

export interface RemoteSettings extends ConnectionsSettings {
  /** The names that the remote knows models by, for those of its ids that are others. */
  readonly models: Readonly<Record<string, string>>;
  readonly totalMs: number;
  readonly catalogEveryMs: number;
}

export interface RemoteDeps {
  /** The engine's name in the configuration, for the log. */
  readonly name: string;
  readonly apiKey: string | undefined;
  readonly log: Log;
  /** The headers that carry the trace of the running request on. Default: none. */
  readonly traceHeaders?: (() => Readonly<Record<string, string>>) | undefined;
}

/**
 * Another Parley over gRPC. It connects at once and reads what the remote offers, both in the background.
 * @throws where the file of authorities cannot be read
 */
export function createRemoteEngine(
  settings: RemoteSettings,
  { name, apiKey, log, traceHeaders }: RemoteDeps,
): EngineSet {
  const connections = new Connections(settings, { name, log });
  const calls = new Calls(connections, { apiKey, traceHeaders, totalMs: settings.totalMs });
  const catalog = new RemoteCatalog(calls, { engine: name, everyMs: settings.catalogEveryMs, log });
  const probe = createDurationProbe();
  const model = (id: string, type: ModelType): RemoteModel => {
    const known = settings.models[id] ?? id;
    catalog.want(known, type);
    return { name: known, calls, catalog };
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
