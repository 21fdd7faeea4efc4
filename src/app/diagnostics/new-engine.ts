/** Checks a server that may become an engine, by the checks of engines. Nothing of it is kept. */
import type * as z from 'zod';
import { openaiEngine } from '../../config/schema/openai-engine.ts';
import { remoteEngine } from '../../config/schema/remote-engine.ts';
import type { CheckedEngine, CheckedEngineFindings } from '../../core/entities/server.ts';
import { invalid } from '../../core/values/parameters.ts';
import type { Diagnosis } from '../../engines/diagnostics.ts';
import { diagnoseOpenAi } from '../../engines/openai/diagnostics.ts';
import type { OpenAiSettings } from '../../engines/openai/index.ts';
import { diagnoseArea } from './areas.ts';

/** A model may have to be loaded for its first token. */
const checkMsMax = 30_000;
const listedMax = 200;
const nameCharactersMax = 200;

/** @throws `invalid_parameter` for a URL that the configuration does not allow */
export async function checkNewEngine(engine: CheckedEngine): Promise<CheckedEngineFindings> {
  const examine = examinationOf(engine);
  let models: readonly string[] = [];
  const check = async (signal: AbortSignal) => {
    const { diagnostics, listed } = await examine(signal);
    models = listed;
    return diagnostics;
  };
  const area = `engine ${engine.url}`;
  const { diagnostics } = await diagnoseArea(area, check, checkMsMax);
  return {
    diagnostics: diagnostics.map((diagnostic) => ({ area, ...diagnostic })),
    models: models.slice(0, listedMax).map((name) => name.slice(0, nameCharactersMax)),
  };
}

function examinationOf({ kind, url, apiKey, models, asksChat }: CheckedEngine) {
  const diagnosis: Omit<Diagnosis, 'signal'> = {
    name: 'checked',
    apiKey,
    keyAdvice: 'Enter the key of that server in the form.',
    models: models.map(({ name, type }) => ({ id: name, type, voices: [], needsContext: type === 'chat' })),
  };
  const schema = kind === 'openai' ? openaiEngine : remoteEngine;
  const settings = checked<OpenAiSettings>(schema.safeParse({ kind, baseUrl: url }));
  return (signal: AbortSignal) => diagnoseOpenAi(settings, { ...diagnosis, signal }, asksChat);
}

function checked<Settings>({ data, error }: z.ZodSafeParseResult<Settings>): Settings {
  if (data !== undefined) return data;
  throw invalid('url', `\`url\` must be ${error?.issues[0]?.message}.`);
}
