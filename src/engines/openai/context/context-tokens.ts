import { numberOf } from '../../../codec/shape.ts';
import { ParleyError } from '../../../core/values/errors.ts';
import { isObject } from '../../../core/values/json.ts';
import type { Signal } from '../../../core/values/signal.ts';
import type { Upstream, UpstreamDeps } from '../calls/upstream.ts';
import { type Known, kept, type ReportedValue } from '../reported-value.ts';

const listBytesMax = 4 * 1024 * 1024;
/** Members of a listed model, in the lists of vLLM; OpenRouter and Together; Groq; Mistral; Anthropic. */
const contextMembers = [
  'max_model_len',
  'context_length',
  'context_window',
  'max_context_length',
  'max_input_tokens',
];
/** Members of `meta` in llama.cpp's list: the context that it serves, and that of the model's training. */
const metaMembers = ['n_ctx', 'n_ctx_train'];

/**
 * Why a model's context is unknown, with advice.
 * @param error undefined if the upstream was read and does not report it
 */
export function noContextReason(engine: string, id: string, error: unknown): string {
  const found =
    error === undefined
      ? `The server of the engine ${engine} does not report the context of this model.`
      : `The server of the engine ${engine} could not be asked for the context of this model.`;
  return `${found} Write \`contextTokens\` of the model ${id} in parley.yaml.`;
}

/**
 * Tokens of a model's prompt and answer together, from the upstream's list of models, or from Ollama's page of one
 * model. Undefined if neither has it.
 *
 * @param model the upstream's name of the model
 * @param list the upstream's list of models. Default: it is asked for it
 * @throws `upstream_error`, or the signal's reason
 */
export async function readContextTokens(
  upstream: Upstream,
  model: string,
  signal: Signal,
  list?: unknown,
): Promise<number | undefined> {
  const listed = contextOfListed(list ?? (await readModelList(upstream, signal)), model);
  return listed ?? readFromOllama(upstream, model, signal);
}

/** The list of models as the upstream sends it. @throws `upstream_error`, or the signal's reason */
export async function readModelList(upstream: Upstream, signal: Signal): Promise<unknown> {
  const headers = { accept: 'application/json' };
  const answer = await upstream.call({ method: 'GET', path: '/models', headers, signal });
  return answer.json(listBytesMax);
}

/** The context of a model in `{data: [{id, …}]}`; undefined if the model or its context is not listed. */
export function contextOfListed(list: unknown, model: string): number | undefined {
  const data = isObject(list) ? list['data'] : undefined;
  const entry = Array.isArray(data) ? data.find((each) => isObject(each) && each['id'] === model) : undefined;
  if (!isObject(entry)) return undefined;
  const { meta } = entry;
  return firstCount([
    ...contextMembers.map((member) => entry[member]),
    ...metaMembers.map((member) => isObject(meta) && meta[member]),
  ]);
}

/** `POST /api/show`, beside `/v1`: the model's own `num_ctx`, else the context of its training. */
async function readFromOllama(
  upstream: Upstream,
  model: string,
  signal: Signal,
): Promise<number | undefined> {
  try {
    const answer = await upstream.call({
      method: 'POST',
      path: '/api/show',
      isBesideVersion: true,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ model }),
      signal,
    });
    return contextOfShown(await answer.json(listBytesMax));
  } catch (error) {
    // Not Ollama: the path is missing, or answers with a page.
    if (error instanceof ParleyError && error.code === 'upstream_error' && !error.hasNotRun) return undefined;
    throw error;
  }
}

export function contextOfShown(shown: unknown): number | undefined {
  if (!isObject(shown)) return undefined;
  const { parameters, model_info: info } = shown;
  const [, own] = (typeof parameters === 'string' && /^num_ctx\s+(\d+)/m.exec(parameters)) || [];
  const trained = isObject(info)
    ? Object.entries(info).flatMap(([name, value]) => (name.endsWith('.context_length') ? [value] : []))
    : [];
  return firstCount([own, ...trained]);
}

function firstCount(values: readonly unknown[]): number | undefined {
  return values.map(numberOf).find((value) => value !== undefined && Number.isInteger(value) && value > 0);
}

/** Milliseconds between two readings of a context that is known. */
const contextEveryMs = 300_000;

/** The contexts that an upstream reports, by the ids of the catalog. Each is read from its first use. */
export function openContexts(
  upstream: Upstream,
  nameOf: (id: string) => string,
  { name: engine, log }: UpstreamDeps,
): { of(id: string): Known<number>; close(): void } {
  const contexts = new Map<string, ReportedValue<number>>();
  return {
    of: (id) =>
      kept(contexts, id, {
        read: (signal) => readContextTokens(upstream, nameOf(id), signal),
        pending: 'The context of this model is still being read. Try again in a moment.',
        reasonOf: (error) => noContextReason(engine, id, error),
        everyMs: contextEveryMs,
        log,
        names: { engine, model: id },
      }),
    close: () => {
      for (const source of contexts.values()) source.close();
    },
  };
}
