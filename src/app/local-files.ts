/** Looks into the files of a local model: whether its runtime can use them, before a request finds out. */
import { tokensOf, typedFiles } from '../engines/sherpa/model-files.ts';
import { streamingConfig } from '../engines/sherpa/streaming-config.ts';
import { ggufFacts } from '../models/gguf-header.ts';
import { ModelError } from '../models/manifest.ts';
import type { LocalModel } from '../models/model-store.ts';

/** @throws ModelError that says what the files lack */
export async function checkContents(model: Pick<LocalModel, 'id' | 'type' | 'files'>): Promise<void> {
  if (model.type !== 'chat') return checkSherpa(model);
  const facts = await Promise.all(
    model.files.filter(({ name }) => name.endsWith('.gguf')).map(({ path }) => ggufFacts(path)),
  );
  if (facts.some(({ chatTemplate }) => chatTemplate !== undefined)) return;
  throw new ModelError(
    `${model.id} has no chat template (\`tokenizer.chat_template\` in its header), as base models have none. Its answers would be text that goes on without end. Take a model that was trained for chat, often named \`instruct\`.`,
  );
}

async function checkSherpa(model: Pick<LocalModel, 'id' | 'type' | 'files'>): Promise<void> {
  const [{ recogniserConfig, voiceConfig }, { publishedVoice }] = await Promise.all([
    import('../engines/sherpa/server.ts'),
    import('../engines/sherpa/published-voice.ts'),
  ]);
  try {
    if (model.type === 'speech' && publishedVoice(model, typedFiles(model))) return;
    if (model.type === 'speech') voiceConfig(model, 1);
    else if (streamingConfig(model, 1) === undefined) recogniserConfig(model, 1);
  } catch (error) {
    throw new ModelError(error instanceof Error ? error.message : String(error), error);
  }
  if (tokensOf(model) === undefined)
    throw new ModelError(`${model.id} has no tokens.txt, which sherpa-onnx needs.`);
}
