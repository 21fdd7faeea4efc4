import { resolve } from 'node:path';
import type { ServeOptions } from '../engines/model-server.ts';
import { ggufFacts } from '../models/gguf-header.ts';
import { ModelError } from '../models/manifest.ts';
import { type LocalModel, ModelStore } from '../models/model-store.ts';

interface ModelProgramOptions extends ServeOptions {
  readonly dataDir: string;
}

/**
 * Serves a pulled model until the process ends.
 * @throws an error that names the file which cannot be used
 */
export async function runModelProgram(id: string, options: ModelProgramOptions): Promise<void> {
  const model = new ModelStore(options.dataDir).resolve(id);
  const { type, files, languages = [], voices = [] } = model;
  if (type === 'chat') return runChat(model, options);
  const { serveModel } = await import('../engines/sherpa/server.ts');
  const speakers = new Map(voices.map((voice) => [voice.name, voice]));
  const language = languages.length === 1 ? languages[0] : undefined;
  await serveModel(
    { id, type, files, speakers, language },
    { ...options, runtime: resolve(options.runtime) },
  );
}

async function runChat({ id, files }: LocalModel, options: ModelProgramOptions): Promise<void> {
  const { serveChat } = await import('../engines/llama/server.ts');
  const [path = ''] = files.map((file) => file.path).sort();
  const { chatTemplate } = await ggufFacts(path);
  if (chatTemplate === undefined) throw new ModelError(`${id} has no chat template.`);
  await serveChat({ id, path, chatTemplate }, { ...options, runtime: resolve(options.runtime) });
}
