/** What a worker runs on: its part of the configuration, in a form that goes from process to process. */
import { type Config, type EngineConfig, Secret } from '../config.ts';

export interface WorkerSettings {
  readonly config: Omit<Config, 'engineKeys'>;
  /** In the clear, as a Secret does not show itself. They go through no file, only through the pipe between the two. */
  readonly engineKeys: Readonly<Record<string, string>>;
}

/** @param ports those that the first workers were given, where the configuration leaves them open */
export function toWorkerSettings({ engineKeys, ...config }: Config, ports: Ports = {}): WorkerSettings {
  const { workers } = config.server;
  const engines = Object.entries(config.engines).map(([name, engine]) => [name, partOf(engine, workers)]);
  const { port = config.server.port, adminPort = config.admin?.port } = ports;
  const admin = config.admin && adminPort !== undefined ? { ...config.admin, port: adminPort } : undefined;
  const connectionsMax = share(config.server.connectionsMax, workers);
  return {
    config: {
      ...config,
      server: { ...config.server, port, connectionsMax },
      admin,
      engines: Object.fromEntries(engines),
    },
    engineKeys: Object.fromEntries(Object.entries(engineKeys).map(([name, key]) => [name, key.reveal()])),
  };
}

export interface Ports {
  readonly port?: number;
  readonly adminPort?: number;
}

export function fromWorkerSettings({ config, engineKeys }: WorkerSettings): Config {
  const secrets = Object.entries(engineKeys).map(([name, key]) => [name, new Secret(key)]);
  return { ...config, engineKeys: Object.fromEntries(secrets) };
}

/** What an engine has of the machine, and what may wait for it, is divided among the workers. */
function partOf(engine: EngineConfig, workers: number): EngineConfig {
  switch (engine.kind) {
    case 'builtin':
      return {
        ...engine,
        speechThreads: share(engine.speechThreads, workers),
        encoderThreads: share(engine.encoderThreads, workers),
        recognizers: share(engine.recognizers, workers),
        speechQueueMax: share(engine.speechQueueMax, workers),
        transcriptionQueueMax: share(engine.transcriptionQueueMax, workers),
      };
    case 'openai':
      return {
        ...engine,
        callsMax: share(engine.callsMax, workers),
        callQueueMax: share(engine.callQueueMax, workers),
      };
    case 'remote':
      return engine;
  }
}

/** Rounded up: whoever has something has at least one. */
function share(count: number, workers: number): number {
  return Math.ceil(count / workers);
}
