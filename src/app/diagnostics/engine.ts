import type { Config, ModelConfig } from '../../config/config.ts';
import { type Diagnostic, warning } from '../../core/values/diagnostics.ts';
import { diagnoseBuiltin } from '../../engines/builtin/diagnostics.ts';
import type { DiagnosedModel } from '../../engines/diagnostics.ts';
import { diagnoseOpenAi } from '../../engines/openai/diagnostics.ts';
import { diagnoseProcess } from '../../engines/process/diagnostics.ts';
import { diagnoseRemote } from '../../engines/remote/diagnostics.ts';
import { programSurroundings } from '../programs.ts';

/** Checks that an engine can serve its models. Does not open the engine and costs nothing. */
export async function diagnoseEngine(
  config: Config,
  name: string,
  signal: AbortSignal,
): Promise<readonly Diagnostic[]> {
  const settings = config.engines[name];
  if (settings === undefined) throw new Error(`there is no engine ${name}`);
  const models = config.models.filter(({ engine }) => [engine].flat().includes(name)).map(diagnosed);
  if (models.length === 0) {
    const advice = 'Name it in `models`, or remove it from `engines`.';
    return [warning('models', 'It serves no model.', advice)];
  }
  const apiKey = config.engineKeys[name]?.reveal();
  const diagnosis = { name, apiKey, models, signal };
  switch (settings.kind) {
    case 'builtin':
      return diagnoseBuiltin(diagnosis);
    case 'openai':
      return diagnoseOpenAi(settings, diagnosis);
    case 'process':
      return diagnoseProcess(settings, programSurroundings(config), diagnosis);
    case 'remote':
      return diagnoseRemote(settings, diagnosis);
  }
}

function diagnosed(model: ModelConfig): DiagnosedModel {
  const { id, type } = model;
  const needsContext = model.type === 'chat' && model.contextTokens === undefined;
  if (model.type !== 'speech') return { id, type, voices: [], needsContext };
  const own = model.voices ? Object.values(model.voices) : [model.defaultVoice];
  return { id, type, needsContext, voices: own.filter((voice) => voice !== undefined) };
}
