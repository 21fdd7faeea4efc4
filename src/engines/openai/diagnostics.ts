import * as z from 'zod';
import { type Diagnostic, ok, problem } from '../../core/values/diagnostics.ts';
import { toParleyError } from '../../core/values/errors.ts';
import {
  type DiagnosedModel,
  type Diagnosis,
  failureReason,
  shortened,
  silentLog,
  voicesDiagnostic,
} from '../diagnostics.ts';
import { Upstream } from './calls/upstream.ts';
import { diagnoseChat } from './chat-diagnostic.ts';
import { noContextReason } from './context/context-source.ts';
import { readContextTokens } from './context/context-tokens.ts';
import type { OpenAiSettings } from './index.ts';
import { noVoicesReason, readListedVoices } from './voices/voice-source.ts';

/** The list that every server of this API has: `{data: [{id}]}`. */
const modelList = z.object({ data: z.array(z.object({ id: z.string() })).nullable() });

/** Checks that the upstream answers, accepts the key, and has the models and voices of the catalog. */
export async function diagnoseOpenAi(settings: OpenAiSettings, diagnosis: Diagnosis): Promise<Diagnostic[]> {
  return (await examineOpenAi(settings, diagnosis)).diagnostics;
}

/**
 * The same, with the names of the models that the upstream lists.
 * @param asksChat whether to ask each chat model for one token
 */
export async function examineOpenAi(
  settings: OpenAiSettings,
  diagnosis: Diagnosis,
  asksChat = false,
): Promise<{ readonly diagnostics: Diagnostic[]; readonly listed: readonly string[] }> {
  const { name, apiKey, models, signal } = diagnosis;
  const upstream = new Upstream({ ...settings, retriesMax: 0 }, { name, apiKey, log: silentLog });
  try {
    const answer = await upstream.call({ method: 'GET', path: '/models', signal });
    const { data } = modelList.parse(await answer.json());
    const listed = (data ?? []).map(({ id }) => id);
    const voices = models
      .filter(({ type }) => type === 'speech')
      .map((model) => diagnoseVoices(model, upstream, settings, diagnosis));
    const contexts = models
      .filter(({ needsContext }) => needsContext)
      .map((model) => diagnoseContext(model, upstream, settings, diagnosis));
    const chats = models
      .filter(({ type }) => asksChat && type === 'chat')
      .map((model) => diagnoseChat(model, upstream, settings, signal));
    const diagnostics = [
      ok('upstream', `${settings.baseUrl} answers.`),
      ...models.map((model) => diagnoseModel(model, settings, listed)),
      ...(await Promise.all([...voices, ...contexts, ...chats])),
    ];
    return { diagnostics, listed };
  } catch (error) {
    return { diagnostics: [diagnoseFailure(error, settings, diagnosis)], listed: [] };
  } finally {
    await upstream.close();
  }
}

function diagnoseModel(
  { id }: DiagnosedModel,
  { models }: OpenAiSettings,
  listed: readonly string[],
): Diagnostic {
  const name = models[id] ?? id;
  const subject = `model ${id}`;
  if (listed.includes(name)) return ok(subject, `It lists ${name}.`);
  return problem(
    subject,
    `It does not list ${name}${listed.length === 0 ? ', nor any other' : `, but ${shortened(listed)}`}.`,
    `Load it there, or write its name there in the engine: models: {${id}: NAME}.`,
  );
}

async function diagnoseContext(
  { id }: DiagnosedModel,
  upstream: Upstream,
  settings: OpenAiSettings,
  { name, signal }: Diagnosis,
): Promise<Diagnostic> {
  const subject = `context of ${id}`;
  let failure: unknown;
  try {
    const tokens = await readContextTokens(upstream, settings.models[id] ?? id, signal);
    if (tokens !== undefined) return ok(subject, `The upstream reports a context of ${tokens} tokens.`);
  } catch (error) {
    signal.throwIfAborted();
    failure = error;
  }
  const advice = `Write contextTokens of the model ${id}. Until then the model cannot be called.`;
  return problem(subject, noContextReason(name, id, failure), advice);
}

async function diagnoseVoices(
  model: DiagnosedModel,
  upstream: Upstream,
  settings: OpenAiSettings,
  { name, signal }: Diagnosis,
): Promise<Diagnostic> {
  const configured = Object.keys(settings.voices);
  if (configured.length > 0) return voicesDiagnostic(model, configured);
  let failure: unknown;
  try {
    const list = await readListedVoices(upstream, settings.models[model.id] ?? model.id, signal);
    const ids = list?.voices.map(({ id }) => id);
    if (ids !== undefined) return voicesDiagnostic(model, ids);
  } catch (error) {
    signal.throwIfAborted();
    failure = error;
  }
  const advice = `List them: engines.${name}.voices, such as {alloy: en}. Until then the model cannot be called.`;
  return problem(`voices of ${model.id}`, noVoicesReason(name, failure), advice);
}

function diagnoseFailure(thrown: unknown, { baseUrl }: OpenAiSettings, { keyAdvice }: Diagnosis): Diagnostic {
  if (thrown instanceof z.ZodError) return wrongApi(baseUrl);
  const error = toParleyError(thrown);
  const reason = failureReason(error);
  if (error.hasNotRun) {
    const advice = 'Start it, or correct `baseUrl` of the engine.';
    return problem('upstream', `${baseUrl} cannot be reached (${reason}).`, advice);
  }
  if (error.httpStatus === 404) return wrongApi(baseUrl);
  if (error.httpStatus === 401 || error.httpStatus === 403) {
    const advice = keyAdvice ?? 'Correct the key that `apiKeyEnv` or `apiKeyFile` of the engine names.';
    return problem('upstream', `${baseUrl} does not accept the key (${reason}).`, advice);
  }
  return problem('upstream', `${baseUrl} does not list its models (${reason}).`, 'Look at its log.');
}

function wrongApi(baseUrl: string): Diagnostic {
  const found = `There is no list of models at ${baseUrl}/models.`;
  return problem('upstream', found, 'Correct `baseUrl` of the engine: it mostly ends with /v1.');
}
