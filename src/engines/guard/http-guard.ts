/** Asks the operator's guard over HTTP before each chat. */
import { create } from '@bufbuild/protobuf';
import { ChatCompletionParamsSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { jsonCodec } from '../../codec/codec.ts';
import type { Guard, GuardedChat } from '../../core/entities/engine.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { isObject, wellFormedJson } from '../../core/values/json.ts';
import { briefError } from '../../core/values/log.ts';
import type { Signal } from '../../core/values/signal.ts';
import { Upstream, type UpstreamDeps } from '../openai/calls/upstream.ts';
import { malformedResponse } from '../openai/errors.ts';

export interface GuardSettings {
  readonly url: string;
  /** Time limit of each check in milliseconds. */
  readonly totalMs: number;
  /** Whether a chat runs (`open`) or is refused (`closed`) if the guard fails. */
  readonly failure: 'open' | 'closed';
}

const answerBytesMax = 65_536;
const reasonUnitsMax = 500;
const headers = { 'content-type': 'application/json', accept: 'application/json' };
const paramsCodec = jsonCodec(ChatCompletionParamsSchema);

/** Calls of a guard are short, so that most of these limits are never reached. */
const callLimits = {
  headers: {},
  callsMax: 128,
  callQueueMax: 256,
  keepAliveMs: 4_000,
  retriesMax: 2,
  retryStatuses: [],
  breakerFailures: 5,
  breakerOpenMs: 10_000,
};

export class HttpGuard implements Guard {
  readonly #settings: GuardSettings;
  readonly #upstream: Upstream;
  readonly #log: UpstreamDeps['log'];

  constructor(settings: GuardSettings, deps: Pick<UpstreamDeps, 'apiKey' | 'log' | 'traceHeaders'>) {
    const { totalMs } = settings;
    const { origin: baseUrl } = new URL(settings.url);
    const times = { connectMs: totalMs, firstByteMs: totalMs, idleMs: totalMs, totalMs };
    this.#settings = settings;
    this.#upstream = new Upstream({ ...callLimits, ...times, baseUrl }, { ...deps, name: 'guard' });
    this.#log = deps.log;
  }

  async check(chat: GuardedChat, signal: Signal): Promise<void> {
    let reason: string | undefined;
    try {
      reason = await this.#ask(chat, signal);
    } catch (cause) {
      signal.throwIfAborted();
      const { failure } = this.#settings;
      const { requestId } = chat;
      this.#log.warn({ requestId, failure, err: briefError(cause) }, 'the guard failed');
      if (failure === 'open') return;
      throw new ParleyError('guard_unavailable', { cause });
    }
    if (reason !== undefined)
      throw new ParleyError('guard_refused', reason === '' ? {} : { message: reason });
  }

  close(): Promise<void> {
    return this.#upstream.close();
  }

  /** The reason of a refusal, empty if the guard gives none; undefined if the chat may run. */
  async #ask({ requestId, messages, ...facts }: GuardedChat, signal: Signal): Promise<string | undefined> {
    const json = paramsCodec.encode(create(ChatCompletionParamsSchema, { messages }));
    const body = wellFormedJson({
      request_id: requestId,
      ...facts,
      messages: isObject(json) ? json['messages'] : [],
    });
    const { pathname: path } = new URL(this.#settings.url);
    const answer = await this.#upstream.call({ method: 'POST', path, headers, body, signal });
    const verdict = await answer.json(answerBytesMax);
    if (!isObject(verdict) || typeof verdict['allow'] !== 'boolean') {
      throw malformedResponse('the answer does not have a boolean `allow`');
    }
    const { allow, reason } = verdict;
    if (allow) return undefined;
    return typeof reason === 'string' ? reason.slice(0, reasonUnitsMax).toWellFormed() : '';
  }
}
