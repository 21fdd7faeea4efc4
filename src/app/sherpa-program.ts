import { resolve } from 'node:path';
import { ModelError } from '../models/manifest.ts';
import { ModelStore } from '../models/model-store.ts';

interface SherpaProgramOptions {
  readonly dataDir: string;
  readonly socketPath: string;
  readonly threads: number;
  /** Calls that Parley makes at once. */
  readonly callsMax: number;
}

/**
 * Serves a pulled model of the runtime sherpa until the process ends.
 * @throws an error that names the file which cannot be used
 */
export async function runSherpaProgram(id: string, options: SherpaProgramOptions): Promise<void> {
  const { dataDir, socketPath, threads, callsMax } = options;
  const store = new ModelStore(dataDir);
  const { type, files, languages = [], voices = [] } = store.resolve(id);
  if (type === 'chat') throw new ModelError(`The model ${id} is for chat, which sherpa-onnx cannot do.`);
  const { serveModel } = await import('../engines/sherpa/server.ts');
  const speakers = new Map(voices.map(({ name, speaker }) => [name, speaker]));
  const language = languages.length === 1 ? languages[0] : undefined;
  const runtime = resolve(dataDir, 'runtimes/sherpa');
  await serveModel({ id, type, files, speakers, language }, { socketPath, runtime, threads, callsMax });
}
