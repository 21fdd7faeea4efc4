import type { Config, ModelConfig } from '../../config/config.ts';
import { type Diagnostic, ok, problem, warning } from '../../core/values/diagnostics.ts';
import { diagnoseBuiltin } from '../../engines/builtin/diagnostics.ts';
import type { DiagnosedModel, Diagnosis } from '../../engines/diagnostics.ts';
import { diagnoseOpenAi } from '../../engines/openai/diagnostics.ts';
import { diagnoseProcess } from '../../engines/process/diagnostics.ts';
import { engineNames, type LocalEngine, openedEngines } from '../local-programs.ts';
import { programSurroundings } from '../programs.ts';

/** The engines to check: those of the running server, and those of the configuration that serve no model. */
export function diagnosedEngines(config: Config): string[] {
  const opened = [...openedEngines(config).keys()];
  const isUsed = (name: string) => opened.some((one) => one === name || one.startsWith(`${name}/`));
  return [...opened, ...Object.keys(config.engines).filter((name) => !isUsed(name))];
}

/** Checks that an engine can serve its models. Does not open the engine and costs nothing. */
export async function diagnoseEngine(
  config: Config,
  name: string,
  signal: AbortSignal,
): Promise<readonly Diagnostic[]> {
  const models = config.models.filter((model) => engineNames(config, model).includes(name)).map(diagnosed);
  if (models.length === 0) {
    const advice = 'Name it in `models`, or remove it from `engines`.';
    return [warning('models', 'It serves no model.', advice)];
  }
  const settings = openedEngines(config).get(name);
  if (settings === undefined) throw new Error(`there is no engine ${name}`);
  const apiKey = config.engineKeys[name]?.reveal();
  const diagnosis = { name, apiKey, models, signal };
  switch (settings.kind) {
    case 'builtin':
      return diagnoseBuiltin(diagnosis);
    case 'local':
      return diagnoseLocal(settings, config, diagnosis);
    case 'openai':
    case 'remote':
      return diagnoseOpenAi(settings, diagnosis);
    case 'process':
      return diagnoseProcess(settings, programSurroundings(config), diagnosis);
  }
}

function diagnoseLocal({ program, fileBytes }: LocalEngine, config: Config, diagnosis: Diagnosis) {
  if ('advice' in program) return [problem('model', program.found, program.advice)];
  const files = ok('files', `They have ${Math.round(fileBytes / 1e6)} MB.`);
  return [files, ...diagnoseProcess(program, programSurroundings(config), diagnosis)];
}

function diagnosed(model: ModelConfig): DiagnosedModel {
  const { id, type } = model;
  const needsContext = model.type === 'chat' && model.contextTokens === undefined;
  if (model.type !== 'speech') return { id, type, voices: [], needsContext };
  const own = model.voices ? Object.values(model.voices) : [model.defaultVoice];
  return { id, type, needsContext, voices: own.filter((voice) => voice !== undefined) };
}
