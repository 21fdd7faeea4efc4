/** One request to the program's services, as a transport runs it. The test controls its engine and its client. */
import { create, type Message } from '@bufbuild/protobuf';
import {
  CreateTranscriptionRequestSchema,
  StreamTranscriptionRequestSchema,
} from '../../gen/parley/audio/v1/transcription_pb.ts';
import {
  ChatCompletionParamsSchema,
  CreateChatCompletionRequestSchema,
  PromptTokensDetailsSchema,
  StreamChatCompletionRequestSchema,
  type Usage,
  UsageSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { SynthesizeSpeechRequestSchema } from '../../gen/parley/speech/v1/speech_pb.ts';
import type { Call } from '../../src/core/access/call.ts';
import type { Gate } from '../../src/core/access/gate.ts';
import { metered, meteredParts } from '../../src/core/billing/metered.ts';
import { type RpcTable, rpcTable, type ServerStreamRpc, type UnaryRpc } from '../../src/core/rpcs.ts';
import type { Services } from '../../src/core/services.ts';
import { ParleyError, toParleyError } from '../../src/core/values/errors.ts';
import type { RequestId } from '../../src/core/values/ids.ts';
import { type Outcome, prompt, word } from './money-rules.ts';
import type { Act, ChatRequest, Report, Request } from './money-steps.ts';
import type { Cue, Run, ScriptedEngines } from './scripted-engines.ts';

export interface Entrance {
  readonly gate: Gate;
  readonly services: Services;
  readonly script: ScriptedEngines;
}

export interface Started {
  readonly outcome: Outcome;
  /** Undefined if the gate refused it. */
  readonly request: MoneyRequest | undefined;
}

export class MoneyRequest {
  readonly #request: Request;
  readonly #client: AbortController;
  readonly #run: Run;
  readonly #answer: AsyncGenerator<unknown>;
  /** The requested part that has not come yet. */
  #pending: Promise<IteratorResult<unknown>> | undefined;

  private constructor(request: Request, client: AbortController, run: Run, call: Call, services: Services) {
    this.#request = request;
    this.#client = client;
    this.#run = run;
    this.#answer = answerOf(request, call, rpcTable(services));
  }

  /** Passes the gate and continues until an engine runs or the request has ended. */
  static async start(id: RequestId, request: Request, key: string, entrance: Entrance): Promise<Started> {
    const client = new AbortController();
    const run = entrance.script.expect(client.signal);
    const { operation, idempotencyKey } = request;
    const incoming = {
      id,
      operation,
      idempotencyKey,
      wire: 'rest',
      client: { address: '127.0.0.1', noteKey: () => undefined },
      authorization: `Bearer ${key}`,
    } as const;
    try {
      const call = await entrance.gate.open({ ...incoming, signal: client.signal });
      if (request.operation === 'chat') call.requestBytes = request.bytes;
      const started = new MoneyRequest(request, client, run, call, entrance.services);
      return { outcome: await started.#begin(), request: started };
    } catch (error) {
      return { outcome: toParleyError(error).code, request: undefined };
    }
  }

  /** The limit of tokens that the engine received. */
  get maxTokens(): number | undefined {
    return this.#run.maxTokens;
  }

  async act(act: Act): Promise<Outcome> {
    switch (act.act) {
      case 'leave':
        return this.leave();
      case 'time out':
        this.#client.abort(new ParleyError('overloaded'));
        return this.#readToEnd();
      case 'hang up':
        if (this.#pending) return this.leave();
        await this.#answer.return(undefined);
        return 'request_cancelled';
      default:
        this.#run.give(cueOf(act));
        return act.act === 'end' || act.act === 'break off' || act.act === 'fail'
          ? this.#readToEnd()
          : this.#readOne(this.#sends(act));
    }
  }

  /** Aborts the request as if the connection of its client was lost. */
  leave(): Promise<Outcome> {
    this.#client.abort(new ParleyError('request_cancelled'));
    return this.#readToEnd();
  }

  async #begin(): Promise<Outcome> {
    const ended = this.#pull().then(
      () => false,
      () => false,
    );
    const runs = await Promise.race([ended, this.#run.begun.then(() => true)]);
    return runs ? 'runs' : this.#readToEnd();
  }

  /** Whether the client gets a part for this, perhaps after its engine waits again: a first part waits for the started record. */
  #sends(act: Act): boolean {
    const { operation } = this.#request;
    return operation === 'chat' && this.#request.streamed && (act.act === 'output' || act.act === 'role');
  }

  /** Reads the next part. Unless there must be one, it may also be that the engine has done its cue without a part. */
  async #readOne(isSent: boolean): Promise<Outcome> {
    try {
      const part = await Promise.race([this.#pull(), ...(isSent ? [] : [this.#run.waits])]);
      if (part === undefined) return 'runs';
      this.#pending = undefined;
      return part.done ? 'answered' : 'runs';
    } catch (error) {
      return this.#fail(error);
    }
  }

  async #readToEnd(): Promise<Outcome> {
    try {
      for (;;) {
        const { done } = await this.#pull();
        this.#pending = undefined;
        if (done) return 'answered';
      }
    } catch (error) {
      return this.#fail(error);
    }
  }

  #pull(): Promise<IteratorResult<unknown>> {
    this.#pending ??= this.#answer.next();
    return this.#pending;
  }

  #fail(thrown: unknown): Outcome {
    const { signal } = this.#client;
    return toParleyError(signal.aborted ? signal.reason : thrown).code;
  }
}

function cueOf(act: Act): Cue {
  switch (act.act) {
    case 'role':
      return { do: 'role' };
    case 'output':
      return { do: 'output', text: word };
    case 'heard':
      return { do: 'heard', durationMs: act.durationMs };
    case 'end':
      return { do: 'end', usage: usageOf(act.report), durationMs: act.durationMs };
    case 'fail':
      return { do: 'fail', error: new ParleyError('upstream_error') };
    case 'break off':
      return { do: 'break off' };
    default:
      throw new Error(`${act.act} is not the engine's to do`);
  }
}

function usageOf(report: Report | undefined): Usage | undefined {
  if (report === undefined) return undefined;
  const { prompt: promptTokens, completion: completionTokens, apart, cache } = report;
  const totalTokens = promptTokens + completionTokens + apart;
  const usage = create(UsageSchema, { promptTokens, completionTokens, totalTokens });
  if (cache === undefined) return usage;
  const [cachedTokens, cacheWriteTokens] = cache;
  return Object.assign(usage, {
    promptTokensDetails: create(PromptTokensDetailsSchema, { cachedTokens, cacheWriteTokens }),
  });
}

function answerOf(request: Request, call: Call, rpcs: RpcTable): AsyncGenerator<unknown> {
  switch (request.operation) {
    case 'chat':
      return chat(request, call, rpcs);
    case 'speech': {
      const model = request.flaw === 'bad field' ? 'unknown' : 'voice';
      const input = 'a'.repeat(request.characters);
      return parts(rpcs.synthesizeSpeech, create(SynthesizeSpeechRequestSchema, { model, input }), call);
    }
    case 'transcription': {
      const file = request.flaw === 'bad field' ? {} : { file: new Uint8Array(10) };
      const transcription = create(CreateTranscriptionRequestSchema, file);
      if (!request.streamed) return whole(rpcs.createTranscription, transcription, call);
      const streamed = create(StreamTranscriptionRequestSchema, { transcription });
      return parts(rpcs.streamTranscription, streamed, call);
    }
  }
}

function chat(request: ChatRequest, call: Call, rpcs: RpcTable): AsyncGenerator<unknown> {
  const { flaw, model, streamed, maxTokens, n } = request;
  const content = { value: { case: 'text' as const, value: prompt } };
  const params = create(ChatCompletionParamsSchema, {
    model: flaw === 'bad field' ? 'unknown' : model,
    messages: [{ role: 'user', content }],
    n,
    ...(maxTokens !== undefined && { maxTokens }),
  });
  if (streamed) {
    return parts(rpcs.streamChatCompletion, create(StreamChatCompletionRequestSchema, { params }), call);
  }
  return whole(rpcs.createChatCompletion, create(CreateChatCompletionRequestSchema, { params }), call);
}

function parts(rpc: ServerStreamRpc, request: Message, call: Call): AsyncGenerator<unknown> {
  const isOutput = (batch: readonly unknown[]) => batch.some((part) => rpc.isOutput(part));
  return meteredParts(call, rpc.run(request, call), isOutput);
}

/** A unary answer has one part. */
async function* whole(rpc: UnaryRpc, request: Message, call: Call): AsyncGenerator<unknown> {
  yield await metered(call, () => rpc.run(request, call));
}
