import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type Diagnostic, ok, problem } from '../../core/diagnostics.ts';
import { toParleyError } from '../../core/errors.ts';
import { type DiagnosedModel, shortened, voicesDiagnostic, wordsOf } from '../diagnostics.ts';
import type { OpenAiSettings } from './settings.ts';
import { Upstream } from './upstream.ts';
import { ListedVoices } from './voices.ts';

export interface UpstreamDiagnosis {
  /** The engine's name in the configuration. */
  readonly name: string;
  readonly apiKey: string | undefined;
  readonly models: readonly DiagnosedModel[];
  readonly signal: AbortSignal;
}

const silent = () => undefined;
const silentLog = { info: silent, warn: silent, error: silent };

/** The list that every server of this API has: `{data: [{id}]}`. */
const modelList = z.object({ data: z.array(z.object({ id: z.string() })).nullable() });

/** Whether the upstream answers, takes the key, and has the models and voices of the catalog. */
export async function diagnoseOpenAi(
  settings: OpenAiSettings,
  { name, apiKey, models, signal }: UpstreamDiagnosis,
): Promise<Diagnostic[]> {
  const upstream = new Upstream({ ...settings, retriesMax: 0 }, { name, apiKey, log: silentLog });
  try {
    const answer = await upstream.call({ method: 'GET', path: '/models', signal });
    const { data } = modelList.parse(await answer.json());
    const listed = (data ?? []).map(({ id }) => id);
    const voices = models
      .filter(({ type }) => type === 'speech')
      .map((model) => diagnoseVoices(model, { upstream, settings, name, signal }));
    return [
      ok('upstream', `${settings.baseUrl} answers.`),
      ...models.map((model) => modelDiagnostic(model, settings, listed)),
      ...(await Promise.all(voices)),
    ];
  } catch (error) {
    return [failure(error, settings)];
  } finally {
    await upstream.close();
  }
}

function modelDiagnostic(
  { id }: DiagnosedModel,
  { models }: OpenAiSettings,
  listed: readonly string[],
): Diagnostic {
  const name = models[id] ?? id;
  const subject = `model ${id}`;
  if (listed.includes(name)) return ok(subject, `It lists ${name}.`);
  const found = `It does not list ${name}${listed.length === 0 ? ', nor any other' : `, but ${shortened(listed)}`}.`;
  return problem(
    subject,
    found,
    `Load it there, or write its name there in the engine: models: {${id}: NAME}.`,
  );
}

interface VoiceDiagnosis {
  readonly upstream: Upstream;
  readonly settings: OpenAiSettings;
  readonly name: string;
  readonly signal: AbortSignal;
}

const lookEveryMs = 20;

async function diagnoseVoices(
  model: DiagnosedModel,
  { upstream, settings, name, signal }: VoiceDiagnosis,
): Promise<Diagnostic> {
  const written = Object.keys(settings.voices);
  if (written.length > 0) return voicesDiagnostic(model, written);
  let complaint: string | undefined;
  const log = {
    ...silentLog,
    warn: (_fields: object, message: string) => {
      complaint = message;
    },
  };
  const known = settings.models[model.id] ?? model.id;
  const voices = new ListedVoices({
    upstream,
    model: known,
    engine: name,
    everyMs: settings.voicesEveryMs,
    log,
  });
  try {
    // It reads by itself, and tells the log where it cannot.
    while (complaint === undefined && !voices.availability().available) {
      await sleep(lookEveryMs, undefined, { signal });
    }
    if (complaint === undefined)
      return voicesDiagnostic(
        model,
        voices.list().voices.map(({ id }) => id),
      );
    const advice = `List them: engines.${name}.voices, such as {alloy: en}. Until then the model cannot be called.`;
    return problem(`voices of ${model.id}`, complaint, advice);
  } finally {
    voices.close();
  }
}

function failure(thrown: unknown, { baseUrl }: OpenAiSettings): Diagnostic {
  const subject = 'upstream';
  if (thrown instanceof z.ZodError) return notThisApi(baseUrl);
  const error = toParleyError(thrown);
  const words = wordsOf(error);
  if (error.hasNotRun) {
    return problem(
      subject,
      `${baseUrl} cannot be reached (${words}).`,
      'Start it, or correct `baseUrl` of the engine.',
    );
  }
  switch (error.httpStatus) {
    case 401:
    case 403:
      return problem(
        subject,
        `${baseUrl} does not accept the key (${words}).`,
        'Correct what `apiKeyEnv` or `apiKeyFile` of the engine leads to.',
      );
    case 404:
      return notThisApi(baseUrl);
    default:
      return problem(subject, `${baseUrl} does not list its models (${words}).`, 'Look at its log.');
  }
}

function notThisApi(baseUrl: string): Diagnostic {
  const found = `There is no list of models at ${baseUrl}/models.`;
  return problem('upstream', found, 'Correct `baseUrl` of the engine: it mostly ends with /v1.');
}
