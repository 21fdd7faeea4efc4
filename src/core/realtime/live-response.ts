/**
 * Runs one response of a conversation: a chat, whose text is spoken clause by clause as it is written. The chat is a request of its
 * own, and so is each clause: the gate is asked for each, and each has its record.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { ChatCompletionParamsSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ResponseParamsSchema } from '../../../gen/parley/responses/v1/responses_pb.ts';
import { SynthesizeSpeechRequestSchema } from '../../../gen/parley/speech/v1/speech_pb.ts';
import type { Turns } from '../access/call.ts';
import { meteredParts } from '../billing/metered.ts';
import type { Metering } from '../billing/metering.ts';
import type { ChatOperations } from '../chat/service.ts';
import type { ChatChunk } from '../entities/chat-answer.ts';
import type { AudioEncoder, OpenEncoder } from '../entities/live.ts';
import { toChatParams } from '../responses/chat-params.ts';
import type { SpeechOperations } from '../speech/service.ts';
import { type ParleyError, toParleyError } from '../values/errors.ts';
import type { RequestId } from '../values/ids.ts';
import { OwnSignal, untilAborted } from '../values/signal.ts';
import { Clauses, isSpeakable } from './clauses.ts';
import { type History, toInput } from './items.ts';
import type { Reports, ResponseEnd, ResponseFacts, ResponseRequest } from './reports.ts';
import { newRealtimeId, ResponseOutput } from './response-output.ts';
import type { CancelReason } from './response-state.ts';

export interface ResponseDeps {
  readonly turns: Turns;
  readonly chat: ChatOperations;
  readonly speech: SpeechOperations;
  readonly models: { readonly chat: string; readonly speech: string };
  readonly openEncoder: OpenEncoder;
  readonly history: History;
  readonly reports: Reports;
  readonly owner: string;
  /** Bytes of items, as JSON, that the chat model takes. */
  promptBytesMax(): number;
}

/** Audio is sent at most this long before it is played, so that little is lost when it is interrupted. */
const aheadMsMax = 2_500;
/** Audio leaves in parts of this length. Speech is PCM of 16 bits at 24 kHz. */
const partBytes = 12_000;
const bytesPerMs = 48;
/** An estimate of the speech of a clause that has not ended. */
const msPerUnit = 65;
/** UTF-16 code units of the text of a response. Then it ends as incomplete. */
const textUnitsMax = 32_768;

export class LiveResponse {
  readonly id = newRealtimeId('resp');
  readonly #request: ResponseRequest;
  readonly #deps: ResponseDeps;
  readonly #output: ResponseOutput;
  readonly #encode: AudioEncoder;
  readonly #signal = new OwnSignal();
  readonly #clauses = new Clauses();
  /** Resolves once all clauses so far are spoken. */
  #spoken: Promise<void> = Promise.resolve();
  #textUnits = 0;
  #chat: Metering | undefined;
  #chatId: RequestId | undefined;
  #incomplete: 'max_output_tokens' | 'content_filter' | undefined;
  #cancelled: CancelReason | undefined;
  #spokenMs = 0;
  /** When all audio so far has been played, if the client plays it at once. */
  #playedAtMs = 0;

  constructor(request: ResponseRequest, deps: ResponseDeps) {
    this.#request = request;
    this.#deps = deps;
    const { isSpoken, isKept } = request;
    const { reports, history } = deps;
    this.#output = new ResponseOutput({
      responseId: this.id,
      isSpoken,
      history: isKept ? history : undefined,
      reports,
    });
    this.#encode = deps.openEncoder(request.encoding);
    this.#signal.owner = deps.owner;
    reports.add({ kind: 'response', response: this.#facts(undefined) });
  }

  /** Stops the chat and the speech. Without a reason of the client's, the response fails with the error. */
  stop(error: ParleyError, reason?: CancelReason): void {
    if (this.#signal.aborted) return;
    this.#cancelled = reason;
    this.#signal.abort(error);
  }

  /** Resolves once all records are durable. Does not reject. */
  async run(): Promise<void> {
    await this.#write().catch(this.#fail);
    await this.#spoken;
    const isWhole = !this.#signal.aborted && this.#incomplete === undefined;
    this.#output.closeMessage(isWhole ? 'completed' : 'incomplete');
    if (isWhole) this.#output.closeCalls();
  }

  readonly #fail = (error: unknown) => this.stop(toParleyError(error));

  /** @param cancelled the reason, for a response that has not run */
  end(cancelled?: CancelReason): void {
    this.#cancelled ??= cancelled;
    this.#deps.reports.add({ kind: 'response', response: this.#facts(this.#end()) });
  }

  #end(): ResponseEnd {
    if (this.#cancelled) return { status: 'cancelled', reason: this.#cancelled };
    if (this.#signal.aborted) return { status: 'failed', error: toParleyError(this.#signal.reason) };
    return this.#incomplete ? { status: 'incomplete', reason: this.#incomplete } : { status: 'completed' };
  }

  #facts(end: ResponseEnd | undefined): ResponseFacts {
    const output = [...this.#output.items];
    const { id } = this;
    return {
      id,
      requestId: this.#chatId,
      request: this.#request,
      output,
      usage: this.#chat?.used.tokens,
      end,
    };
  }

  /** The chat is read to its end, however long its speech takes. */
  async #write(): Promise<void> {
    const { turns, chat, models, reports } = this.#deps;
    const { isSpoken } = this.#request;
    const params = this.#params();
    const call = await turns.open({ operation: 'chat', signal: this.#signal });
    this.#chat = call.metering;
    this.#chat.noteModel(models.chat);
    this.#chatId = call.id;
    call.requestBytes = toBinary(ChatCompletionParamsSchema, params).length;
    for await (const chunks of meteredParts(call, chat.stream(params, call, { isSpoken }), () => false)) {
      for (const chunk of chunks) this.#take(chunk);
      if (this.#textUnits > textUnitsMax) this.#incomplete = 'max_output_tokens';
      if (this.#textUnits > textUnitsMax) break;
      if (!isSpoken) await untilAborted(reports.whenRoom(), this.#signal);
    }
    this.#say(this.#clauses.finish());
  }

  #params() {
    const { models, history, promptBytesMax } = this.#deps;
    const { instructions, tools, toolChoice, maxOutputTokens, input } = this.#request;
    const items = (input ?? history.latest(promptBytesMax())).map(toInput);
    // A chat needs a message, also where the assistant speaks first.
    const isFirst = items.length === 0;
    const value = instructions || 'Begin the conversation.';
    if (isFirst) items.push({ role: 'system', content: { value: { case: 'text', value } } });
    return toChatParams(
      create(ResponseParamsSchema, {
        model: models.chat,
        input: { value: { case: 'items', value: { items } } },
        tools: [...tools],
        ...(!isFirst && instructions !== '' && { instructions }),
        ...(toolChoice && { toolChoice }),
        ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      }),
    );
  }

  #take({ message }: ChatChunk): void {
    const [choice] = message.choices;
    const { content = '', refusal = '', toolCalls = [] } = choice?.delta ?? {};
    const text = content + refusal;
    this.#textUnits += text.length;
    for (const call of toolCalls) this.#output.takeCall(call);
    if (choice?.finishReason === 'length') this.#incomplete = 'max_output_tokens';
    if (choice?.finishReason === 'content_filter') this.#incomplete = 'content_filter';
    if (text === '') return;
    if (this.#request.isSpoken) this.#say(this.#clauses.add(text));
    else this.#output.addText(text);
  }

  /** Speaks one clause after the other, while the chat goes on. */
  #say(clauses: readonly string[]): void {
    for (const clause of clauses)
      this.#spoken = this.#spoken.then(() => this.#speak(clause)).catch(this.#fail);
  }

  async #speak(text: string): Promise<void> {
    if (this.#signal.aborted) return;
    if (!isSpeakable(text)) return this.#output.addText(text);
    const { turns, speech, models } = this.#deps;
    const call = await turns.open({ operation: 'speech', signal: this.#signal });
    const { voice } = this.#request;
    const request = { model: models.speech, input: text, voice, responseFormat: 'pcm' };
    const spoken = speech.synthesizeSpeech(create(SynthesizeSpeechRequestSchema, request), call);
    const startMs = this.#spokenMs;
    for await (const audio of meteredParts(call, this.#paced(spoken), () => true)) {
      if (this.#spokenMs === startMs) await this.#beginClause(text);
      this.#spokenMs += audio.length / bytesPerMs;
      this.#output.addAudio(this.#encode(audio));
    }
    this.#output.noteSpoken(text, this.#spokenMs, false);
  }

  /** The client has some of the chat's output once it has the text of a clause. */
  async #beginClause(text: string): Promise<void> {
    if (this.#chat && !this.#chat.hasEnded) await this.#chat.beginOutput();
    this.#output.addText(text);
    this.#output.noteSpoken(text, this.#spokenMs + text.length * msPerUnit, true);
  }

  /** Gives short parts, each when it may be sent. */
  async *#paced(parts: AsyncIterable<{ readonly audio: Uint8Array }>): AsyncGenerator<Uint8Array> {
    for await (const { audio } of parts) {
      for (let at = 0; at < audio.length; at += partBytes) {
        const part = audio.subarray(at, at + partBytes);
        const aheadMs = this.#playedAtMs - performance.now();
        if (aheadMs > aheadMsMax) await untilAborted(sleep(aheadMs - aheadMsMax), this.#signal);
        await untilAborted(this.#deps.reports.whenRoom(), this.#signal);
        this.#playedAtMs = Math.max(performance.now(), this.#playedAtMs) + part.length / bytesPerMs;
        yield part;
      }
    }
  }
}
