import type { JsonObject } from '@bufbuild/protobuf';
import type { ChatCompletionParams } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { ChatEngine } from '../../core/entities/engine.ts';
import { isObject } from '../../core/values/json.ts';
import type { Signal } from '../../core/values/signal.ts';
import { chatAnswerBytesMax } from '../answer-limits.ts';
import type { EngineSet } from '../engine-set.ts';
import { Upstream, type UpstreamDeps, type UpstreamSettings } from '../openai/calls/upstream.ts';
import { joinEvents } from '../openai/chat/joined-chunks.ts';
import { readWhole } from '../openai/chat/json.ts';
import type { ChatParameters } from '../openai/chat/operator-members.ts';
import { chunksOf } from '../openai/chat.ts';
import { openContexts } from '../openai/context/context-tokens.ts';
import { malformedResponse } from '../openai/errors.ts';
import type { Known } from '../openai/reported-value.ts';
import { MessageEvents, readMessage } from './answer.ts';
import { toBytes, toRequest } from './request.ts';

/** Checked, with every default filled in. */
interface AnthropicSettings extends UpstreamSettings {
  /** The upstream's model names, by the ids of the catalog, where the two differ. */
  readonly models: Readonly<Record<string, string>>;
  /** The header `anthropic-version`. */
  readonly version: string;
  /** Values of `anthropic-beta` that clients may send. */
  readonly betas: readonly string[];
  /** The longest event of a stream. */
  readonly eventCharactersMax: number;
  readonly parameters: ChatParameters;
}

/** Any server that speaks the Messages API. Connects at first use. */
export function createAnthropicEngine(settings: AnthropicSettings, deps: UpstreamDeps): EngineSet {
  const upstream = new Upstream(toUpstream(settings), deps);
  const nameOf = (id: string) => settings.models[id] ?? id;
  const contexts = openContexts(upstream, nameOf, deps);
  return {
    chat: (id, needsContext) =>
      createAnthropicChat(upstream, nameOf(id), settings, needsContext ? contexts.of(id) : undefined),
    reading: () => upstream.reading(),
    close: () => {
      contexts.close();
      return upstream.close();
    },
  };
}

/** The settings with the headers that each request of this API has. */
export function toUpstream(settings: AnthropicSettings) {
  const headers = { 'anthropic-version': settings.version, ...settings.headers };
  return { ...settings, headers, keyHeader: 'x-api-key' } as const;
}

/**
 * @param model the upstream's name of the model
 * @param context set if it is read from the upstream
 */
function createAnthropicChat(
  upstream: Upstream,
  model: string,
  settings: AnthropicSettings,
  context: Known<number> | undefined,
): ChatEngine {
  const { parameters, eventCharactersMax } = settings;
  const post = (path: string, params: ChatCompletionParams, stream: boolean, signal: Signal) => {
    const whole = toRequest(params, { model, stream, parameters });
    const request = path === '/messages' ? whole : counted(whole);
    const betas = betasOf(params, settings.betas);
    const headers = {
      'content-type': 'application/json',
      accept: stream ? 'text/event-stream' : 'application/json',
      ...(betas !== '' && { 'anthropic-beta': betas }),
    };
    return upstream.call({ method: 'POST', path, headers, body: toBytes(request), signal });
  };
  const report = (body: string) => upstream.reportedError(body);
  return {
    takesBlocks: true,
    availability: () => context?.availability() ?? { available: true },
    contextTokens: () => context?.value(),
    countPrompt: async (params, signal) => {
      const answer = await post('/messages/count_tokens', params, false, signal);
      return countIn(await answer.json());
    },
    complete: async (params, signal) => {
      const answer = await post('/messages', params, false, signal);
      const events = new MessageEvents(report);
      const join = (body: Buffer) => joinEvents(body, (event) => events.toChunk(event));
      return readMessage(await answer.json(chatAnswerBytesMax(params), join), report);
    },
    stream: (params, signal) => {
      let hasBegun = false;
      const events = new MessageEvents((body) => upstream.reportedError(body, hasBegun));
      return chunksOf(() => post('/messages', params, true, signal), {
        eventCharactersMax,
        bytesMax: chatAnswerBytesMax(params),
        isEnd: ({ data }) => /^\s*\{[^{}]*"type"\s*:\s*"message_stop"/.test(data),
        toChunk: ({ data }) => {
          const chunk = events.read(readWhole(data));
          hasBegun ||= chunk !== undefined;
          return chunk;
        },
        end: () => undefined,
        toAnswer: (json) => readMessage(json, report),
      });
    },
  };
}

/** The members of a request that its count of tokens may have. The API refuses any other. */
const countedMembers: ReadonlySet<string> = new Set([
  'model',
  'system',
  'messages',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
]);

function counted(request: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(request).filter(([name]) => countedMembers.has(name)));
}

/** The beta features that the client asks for and the operator allows. */
function betasOf({ other }: ChatCompletionParams, allowed: readonly string[]): string {
  const asked = other?.['anthropic_beta'];
  return allowed.filter((name) => Array.isArray(asked) && asked.includes(name)).join(',');
}

function countIn(json: unknown): number {
  const count = isObject(json) ? json['input_tokens'] : undefined;
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count;
  throw malformedResponse('the answer has no count of tokens');
}
