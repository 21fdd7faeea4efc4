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
import { Upstream, type UpstreamSettings } from './calls/upstream.ts';
import { LimitName } from './chat/limit-names.ts';
import { noContextReason, readContextTokens, readModelList } from './context/context-tokens.ts';
import type { OpenAiSettings } from './settings.ts';
import { noVoicesReason, readListedVoices } from './voices/voice-list.ts';

/** The list that every server of this API has: `{data: [{id}]}`. */
const modelList = z.object({ data: z.array(z.object({ id: z.string() })).nullable() });
/** A chat answer that can be charged, as chat completion or message. */
const usage = z.unknown().optional();
const chatAnswer = z.union([
  z.object({ choices: z.array(z.unknown()).min(1), usage }),
  z.object({ content: z.array(z.unknown()), usage }),
]);

/** The settings of an engine that lists its models as OpenAI's API does. */
type DiagnosedSettings = UpstreamSettings &
  Pick<OpenAiSettings, 'models'> &
  Partial<Pick<OpenAiSettings, 'voices' | 'outputLimit'>> & {
    /** Default: `/chat/completions` */
    readonly chatPath?: '/messages';
  };

interface Examined extends Diagnosis {
  readonly upstream: Upstream;
  readonly settings: DiagnosedSettings;
  /** The upstream's list of models, as it came. */
  readonly list: unknown;
}

/**
 * Checks that the upstream answers, accepts the key, and has the models and voices of the catalog. Also returns the
 * names of the models that it lists.
 * @param asksChat whether to ask each chat model for one token
 */
export async function diagnoseOpenAi(
  settings: DiagnosedSettings,
  diagnosis: Diagnosis,
  asksChat = false,
): Promise<{ readonly diagnostics: Diagnostic[]; readonly listed: readonly string[] }> {
  const { name, apiKey, models, signal } = diagnosis;
  const upstream = new Upstream({ ...settings, retriesMax: 0 }, { name, apiKey, log: silentLog });
  try {
    const list = await readModelList(upstream, signal);
    const listed = (modelList.parse(list).data ?? []).map(({ id }) => id);
    const examined = { ...diagnosis, upstream, settings, list };
    const asked = models.flatMap((model) => [
      ...(model.type === 'speech' ? [diagnoseVoices(model, examined)] : []),
      ...(model.needsContext ? [diagnoseContext(model, examined)] : []),
      ...(asksChat && model.type === 'chat' ? [diagnoseChat(model, examined)] : []),
    ]);
    const diagnostics = [
      ok('upstream', `${settings.baseUrl} answers.`),
      ...models.map((model) => diagnoseModel(model, settings, listed)),
      ...(await Promise.all(asked)),
    ];
    return { diagnostics, listed };
  } catch (error) {
    return { diagnostics: [diagnoseFailure(error, settings, diagnosis)], listed: [] };
  } finally {
    await upstream.close();
  }
}

function diagnoseModel(
  { id, type }: DiagnosedModel,
  { models, isParley = false }: DiagnosedSettings,
  listed: readonly string[],
): Diagnostic {
  const name = models[id] ?? id;
  if (isParley && type === 'transcription') return ok(`model ${id}`, 'It transcribes, whatever the name.');
  if (listed.includes(name)) return ok(`model ${id}`, `It lists ${name}.`);
  const others = listed.length === 0 ? ', nor any other' : `, but ${shortened(listed)}`;
  const advice = `Load it there, or write its name there in the engine: models: {${id}: NAME}.`;
  return problem(`model ${id}`, `It does not list ${name}${others}.`, advice);
}

/** The value or the failure of a question. Rejects when the time is over. */
async function ask<Value>(question: () => Promise<Value>, { signal }: Examined) {
  try {
    return { value: await question() };
  } catch (error) {
    signal.throwIfAborted();
    return { error };
  }
}

async function diagnoseContext({ id }: DiagnosedModel, examined: Examined): Promise<Diagnostic> {
  const { upstream, settings, name, signal, list } = examined;
  const question = () => readContextTokens(upstream, settings.models[id] ?? id, signal, list);
  const { value: tokens, error } = await ask(question, examined);
  if (tokens !== undefined) {
    return ok(`context of ${id}`, `The upstream reports a context of ${tokens} tokens.`);
  }
  const advice = `Write contextTokens of the model ${id}. Until then the model cannot be called.`;
  return problem(`context of ${id}`, noContextReason(name, id, error), advice);
}

async function diagnoseVoices(model: DiagnosedModel, examined: Examined): Promise<Diagnostic> {
  const { upstream, settings, name, signal } = examined;
  const configured = Object.keys(settings.voices ?? {});
  if (configured.length > 0) return voicesDiagnostic(model, configured);
  const question = () => readListedVoices(upstream, settings.models[model.id] ?? model.id, signal);
  const { value, error } = await ask(question, examined);
  const ids = value?.voices.map(({ id }) => id);
  if (ids !== undefined) return voicesDiagnostic(model, ids);
  const advice = `List them: engines.${name}.voices, such as {alloy: en}. Until then the model cannot be called.`;
  return problem(`voices of ${model.id}`, noVoicesReason(name, error), advice);
}

async function diagnoseChat({ id }: DiagnosedModel, examined: Examined): Promise<Diagnostic> {
  const { upstream, settings, signal } = examined;
  const path = settings.chatPath ?? '/chat/completions';
  const subject = `chat with ${id}`;
  const chat = { model: settings.models[id] ?? id, messages: [{ role: 'user', content: 'Hi' }] };
  const limit = new LimitName(settings.outputLimit, settings.baseUrl, () => undefined);
  const headers = { 'content-type': 'application/json' };
  const { value, error } = await ask(async () => {
    const answer = await limit.withName((name) => {
      const body = JSON.stringify({ ...chat, [name]: 1 });
      return upstream.call({ method: 'POST', path, headers, body, signal });
    });
    return chatAnswer.parse(await answer.json());
  }, examined);
  if (value !== undefined) {
    const counted = value.usage
      ? ', and reports its tokens.'
      : '. It reports no tokens, so Parley counts them.';
    return ok(subject, `It answers${counted}`);
  }
  const isOther = error instanceof z.ZodError;
  const reason = isOther ? 'its answer is not that of a chat' : failureReason(toParleyError(error));
  const advice = 'Look at its log, and check the name of the model.';
  return problem(subject, `It does not answer (${reason}).`, advice);
}

function diagnoseFailure(
  thrown: unknown,
  { baseUrl }: DiagnosedSettings,
  { keyAdvice = 'Correct the key that `apiKeyEnv` or `apiKeyFile` of the engine names.' }: Diagnosis,
): Diagnostic {
  const error = toParleyError(thrown);
  const { hasNotRun, httpStatus } = error;
  const failed = (found: string, advice: string) => problem('upstream', `${baseUrl} ${found}`, advice);
  const reason = failureReason(error);
  if (thrown instanceof z.ZodError || (!hasNotRun && httpStatus === 404))
    return failed('has no list of models.', 'Correct `baseUrl` of the engine: it mostly ends with /v1.');
  if (hasNotRun)
    return failed(`cannot be reached (${reason}).`, 'Start it, or correct `baseUrl` of the engine.');
  if (httpStatus === 401 || httpStatus === 403)
    return failed(`does not accept the key (${reason}).`, keyAdvice);
  return failed(`does not list its models (${reason}).`, 'Look at its log.');
}
