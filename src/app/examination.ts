/** What `parley doctor` looks at in the rooms that the command line does not know. */
import type { Config, ModelConfig } from '../config.ts';
import type { Condition } from '../core/condition.ts';
import { warning } from '../core/condition.ts';
import { examineBuiltin } from '../engines/builtin/examine.ts';
import type { ExaminedModel } from '../engines/examination.ts';
import { examineOpenAi } from '../engines/openai/examine.ts';
import { examineRemote } from '../engines/remote/examine.ts';

export { TlsFilesError, TlsPair } from '../net/tls-pair.ts';
export { examineStore } from '../store/examine.ts';

/** Whether the engine of this name can do what the models of the catalog want of it. It is not opened, and spends nothing. */
export async function examineEngine(
  config: Config,
  name: string,
  signal: AbortSignal,
): Promise<readonly Condition[]> {
  const settings = config.engines[name];
  if (settings === undefined) throw new Error(`there is no engine ${name}`);
  const models = config.models.filter(({ engine }) => [engine].flat().includes(name)).map(examined);
  if (models.length === 0) {
    const advice = `Name it in \`models\`, or take it out of \`engines\`.`;
    return [warning('models', 'No model is served by it.', advice)];
  }
  const apiKey = config.engineKeys[name]?.reveal();
  switch (settings.kind) {
    case 'builtin':
      return examineBuiltin(models, signal);
    case 'openai':
      return examineOpenAi(settings, { name, apiKey, models, signal });
    case 'remote':
      return examineRemote(settings, { apiKey, models, signal });
  }
}

function examined(model: ModelConfig): ExaminedModel {
  const { id, type } = model;
  if (model.type !== 'speech') return { id, type, voices: [] };
  const own = model.voices ? Object.values(model.voices) : [model.defaultVoice];
  return { id, type, voices: own.filter((voice) => voice !== undefined) };
}
