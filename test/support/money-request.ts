/** One request to the program's services, as an edge would run it, with its engine and its client under command. */
import { create } from '@bufbuild/protobuf';
import {
  CreateTranscriptionRequestSchema,
  StreamTranscriptionRequestSchema,
} from '../../gen/parley/audio/v1/transcription_pb.ts';
import {
  ChatCompletionParamsSchema,
  CreateChatCompletionRequestSchema,
  StreamChatCompletionRequestSchema,
  type Usage,
  UsageSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { SynthesizeSpeechRequestSchema } from '../../gen/parley/speech/v1/speech_pb.ts';
import type { Gate } from '../../src/core/access/gate.ts';
import type { Call } from '../../src/core/call.ts';
import { ParleyError, toParleyError } from '../../src/core/errors.ts';
import type { RequestId } from '../../src/core/ids.ts';
import type { Services } from '../../src/core/services.ts';
import { type Outcome, prompt, word } from './money-rules.ts';
import type { Act, ChatRequest, Report, Request } from './money-steps.ts';
import type { Cue, Run, ScriptedEngines } from './scripted-engines.ts';

export interface Edge {
  readonly gate: Gate;
  readonly services: Services;
  readonly script: ScriptedEngines;
}

export interface Started {
  readonly outcome: Outcome;
  /** Undefined where the gate has turned it away. */
  readonly request: MoneyRequest | undefined;
}

export class MoneyRequest {
  readonly #client: AbortController;
  readonly #run: Run;
  readonly #call: Call;
  readonly #answer: AsyncGenerator<unknown>;
  /** The part that was asked for and has not come. */
  #pending: Promise<IteratorResult<unknown>> | undefined;

  private constructor(request: Request, client: AbortController, run: Run, call: Call, services: Services) {
    this.#client = client;
    this.#run = run;
    this.#call = call;
    this.#answer = answerOf(request, call, services);
  }

  /** Goes through the gate and on until an engine runs or the request has ended. */
  static async start(id: RequestId, request: Request, key: string, edge: Edge): Promise<Started> {
    const client = new AbortController();
    const run = edge.script.expect(client.signal);
    const { operation, idempotencyKey } = request;
    const arrival = {
      id,
      operation,
      idempotencyKey,
      wire: 'rest',
      address: '127.0.0.1',
      authorization: `Bearer ${key}`,
    } as const;
    try {
      const call = await edge.gate.open({ ...arrival, signal: client.signal });
      if (request.operation === 'chat') call.requestBytes = request.bytes;
      const started = new MoneyRequest(request, client, run, call, edge.services);
      return { outcome: await started.#begin(), request: started };
    } catch (error) {
      return { outcome: toParleyError(error).code, request: undefined };
    }
  }

  /** The limit of tokens that the engine was told. */
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
          : this.#readOne();
    }
  }

  /** As when its client's connection is lost. */
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

  /** Reads the next part, or waits until the engine has done its cue without one. */
  async #readOne(): Promise<Outcome> {
    try {
      const part = await Promise.race([this.#pull(), this.#run.waits]);
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

  /** The end that an edge puts behind whatever a service throws. */
  async #fail(thrown: unknown): Promise<Outcome> {
    const { signal } = this.#client;
    const error = toParleyError(signal.aborted ? signal.reason : thrown);
    await this.#call.metering.void(error);
    return error.code;
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
  const { prompt: promptTokens, completion: completionTokens, apart } = report;
  const totalTokens = promptTokens + completionTokens + apart;
  return create(UsageSchema, { promptTokens, completionTokens, totalTokens });
}

function answerOf(request: Request, call: Call, services: Services): AsyncGenerator<unknown> {
  switch (request.operation) {
    case 'chat':
      return chat(request, call, services);
    case 'speech': {
      const model = request.flaw === 'bad field' ? 'unknown' : 'voice';
      const input = 'a'.repeat(request.characters);
      return services.speech.synthesizeSpeech(create(SynthesizeSpeechRequestSchema, { model, input }), call);
    }
    case 'transcription': {
      const file = request.flaw === 'bad field' ? {} : { file: new Uint8Array(10) };
      const transcription = create(CreateTranscriptionRequestSchema, file);
      if (!request.streamed) return whole(services.transcription.createTranscription(transcription, call));
      const streamed = create(StreamTranscriptionRequestSchema, { transcription });
      return services.transcription.streamTranscription(streamed, call);
    }
  }
}

function chat(request: ChatRequest, call: Call, services: Services): AsyncGenerator<unknown> {
  const { flaw, model, streamed, maxTokens, n } = request;
  const content = { value: { case: 'text' as const, value: prompt } };
  const params = create(ChatCompletionParamsSchema, {
    model: flaw === 'bad field' ? 'unknown' : model,
    messages: [{ role: 'user', content }],
    n,
    ...(maxTokens !== undefined && { maxTokens }),
  });
  if (streamed) {
    return services.chat.streamChatCompletion(create(StreamChatCompletionRequestSchema, { params }), call);
  }
  return whole(
    services.chat.createChatCompletion(create(CreateChatCompletionRequestSchema, { params }), call),
  );
}

/** A plain answer: one part. */
async function* whole(answer: Promise<unknown>): AsyncGenerator<unknown> {
  yield await answer;
}
