/** The blocks of an answer as events. One block after the other is open, so pieces for a later one wait until then. */
import { create, type JsonObject, type JsonValue, type MessageInitShape } from '@bufbuild/protobuf';
import type { ChatDelta } from '../../../gen/parley/chat/v1/chat_pb.ts';
import * as pb from '../../../gen/parley/messages/v1/messages_pb.ts';
import { partLeftOut, pieceOf } from '../chat/answer-pieces.ts';
import type { AnswerReasoning } from '../chat/reasoning.ts';
import { reasoningText } from '../entities/chat-output.ts';
import { type CallSoFar, ToolCalls } from '../entities/tool-calls.ts';
import { ParleyError } from '../values/errors.ts';
import { isObject, parsedObject } from '../values/json.ts';

type Emit = (event: MessageInitShape<typeof pb.MessageEventSchema>) => void;

type TextType = 'text' | 'thinking';

interface Block extends Partial<CallSoFar> {
  readonly type: TextType | 'tool_use' | 'redacted_thinking';
  readonly id?: string;
  /** The whole text, or the arguments of the call. */
  text: string;
  /** Characters of the text that were sent. */
  sent: number;
  isEnded: boolean;
  /** Sources of a text, and how many were sent. */
  readonly citations?: JsonObject[] | undefined;
  cited?: number;
  /** For thinking, at its end: what the model needs again. */
  sealed?: string | undefined;
}

export class Blocks {
  readonly #list: Block[] = [];
  readonly #calls = new ToolCalls((call) => this.#addCall(call));
  readonly #prefix: string;
  readonly #reasoning: AnswerReasoning;
  readonly #emit: Emit;
  /** The place of the block that is open, or is opened next. */
  #open = 0;
  #hasStarted = false;
  /** Whether parts are left out: this API has only text in answers. */
  #isPartial = false;

  /** @param prefix of ids for calls that the model gives none */
  constructor(prefix: string, reasoning: AnswerReasoning, emit: Emit) {
    this.#prefix = prefix;
    this.#reasoning = reasoning;
    this.#emit = emit;
  }

  get hasCalls(): boolean {
    return this.#calls.all.length > 0;
  }

  take(delta: ChatDelta): void {
    const { refusal = '', other } = delta;
    const { text, calls, images, audio, hasMore } = pieceOf(delta);
    this.#reasoning.take(other);
    this.#write('thinking', reasoningText(other));
    this.#cite(other?.['citations']);
    this.#write('text', text + refusal);
    const isPartial = images.length > 0 || audio !== '' || hasMore;
    if (isPartial && !this.#isPartial) this.#write('text', partLeftOut);
    this.#isPartial ||= isPartial;
    for (const call of calls) this.#calls.take(call);
    this.#send();
  }

  close(): void {
    this.#carry();
    for (const block of this.#list) block.isEnded = true;
    this.#send();
  }

  /**
   * The blocks of a whole answer.
   * @param isCut whether the answer ends at its limit: a call that it cuts is left out, as it must not be run
   * @throws `upstream_error` for a call whose arguments are not a JSON object
   */
  whole(isCut: boolean): pb.ContentBlock[] {
    this.#carry();
    return this.#list.flatMap((block) => {
      if (block.type === 'redacted_thinking') return [emptyBlock(block)];
      if (block.type === 'thinking')
        return [{ ...emptyBlock(block), thinking: block.text, signature: block.sealed ?? '' }];
      if (block.type === 'text') {
        const other = block.citations?.length ? { citations: block.citations } : undefined;
        return block.text === '' && other === undefined
          ? []
          : [{ ...emptyBlock(block), text: block.text, other }];
      }
      const input = parsedObject(block.text || '{}');
      if (input !== undefined) return [{ ...emptyBlock(block), input }];
      if (isCut) return [];
      const cause = new Error('the arguments of a call are not a JSON object');
      throw new ParleyError('upstream_error', { cause });
    });
  }

  #write(type: TextType, text: string): void {
    if (text === '') return;
    const last = this.#list.at(-1);
    if (last?.type === type) {
      last.text += text;
      return;
    }
    // Thinking has its own at its end.
    if (type === 'text') this.#carry();
    this.#add({ type, text, sent: 0, isEnded: false });
  }

  /** Upstreams of this API begin each text that may have sources with an empty list of them. */
  #cite(citations: JsonValue | undefined): void {
    if (!Array.isArray(citations)) return;
    const last = this.#list.at(-1);
    const isBegun = last?.type === 'text' && last.citations !== undefined;
    if (citations.length === 0 || !isBegun) {
      this.#carry();
      this.#add({ type: 'text', text: '', sent: 0, isEnded: false, citations: [], cited: 0 });
    }
    this.#list.at(-1)?.citations?.push(...citations.filter(isObject));
  }

  /** Gives the client what the model needs again, in a block of its own if no thinking is open. */
  #carry(beforeCall = false): void {
    const sealed = this.#reasoning.seal(beforeCall);
    if (sealed === undefined) return;
    const last = this.#list.at(-1);
    if (last?.type === 'thinking' && last.sealed === undefined) last.sealed = sealed;
    else this.#add({ type: 'redacted_thinking', text: '', sent: 0, isEnded: true, sealed });
  }

  /** A text that is followed by another block is at its end. A call may get more pieces until the answer ends. */
  #add<B extends Block>(block: B): B {
    const last = this.#list.at(-1);
    if (last && last.type !== 'tool_use') last.isEnded = true;
    this.#list.push(block);
    return block;
  }

  #addCall(call: CallSoFar): Block & CallSoFar {
    const id = call.givenId || `${this.#prefix}_${this.#list.length}`;
    this.#reasoning.takeCall(id, call.other);
    this.#carry(true);
    return this.#add({ ...call, type: 'tool_use', id, sent: 0, isEnded: false });
  }

  /** Sends what the open block has, and opens the next one if it is at its end. */
  #send(): void {
    for (let block = this.#list[this.#open]; block; block = this.#list[this.#open]) {
      const index = this.#open;
      if (!this.#hasStarted && block.name === '' && !block.isEnded) return;
      if (!this.#hasStarted)
        this.#emit({ type: 'content_block_start', index, contentBlock: emptyBlock(block) });
      this.#hasStarted = true;
      const text = block.text.slice(block.sent);
      block.sent = block.text.length;
      if (text !== '') this.#emit({ type: 'content_block_delta', index, delta: deltaOf(block.type, text) });
      for (const citation of block.citations?.slice(block.cited) ?? [])
        this.#emit({ type: 'content_block_delta', index, delta: { type: 'citations_delta', citation } });
      block.cited = block.citations?.length ?? 0;
      if (!block.isEnded) return;
      if (block.type === 'thinking' && block.sealed) {
        const delta = { type: 'signature_delta', signature: block.sealed };
        this.#emit({ type: 'content_block_delta', index, delta });
      }
      this.#emit({ type: 'content_block_stop', index });
      this.#hasStarted = false;
      this.#open++;
    }
  }
}

function emptyBlock({ type, id, name, sealed }: Block): pb.ContentBlock {
  if (type === 'text') return create(pb.ContentBlockSchema, { type, text: '' });
  if (type === 'thinking') return create(pb.ContentBlockSchema, { type, thinking: '', signature: '' });
  if (type === 'redacted_thinking') return create(pb.ContentBlockSchema, { type, data: sealed });
  return create(pb.ContentBlockSchema, { type, id, name, input: {} });
}

function deltaOf(type: Block['type'], text: string): MessageInitShape<typeof pb.MessageDeltaSchema> {
  if (type === 'tool_use') return { type: 'input_json_delta', partialJson: text };
  return { type: `${type}_delta`, [type]: text };
}
