/** The items of an answer. Each piece of a chat becomes events that open, fill and close items and their parts. */
import { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import type { ChatDelta, TokenLogprob, ToolCall } from '../../../gen/parley/chat/v1/chat_pb.ts';
import * as pb from '../../../gen/parley/responses/v1/responses_pb.ts';
import { joinedBase64, partLeftOut, pieceOf } from '../chat/answer-pieces.ts';
import type { AnswerReasoning } from '../chat/reasoning.ts';
import { reasoningText } from '../entities/chat-output.ts';
import { type CallSoFar, ToolCalls } from '../entities/tool-calls.ts';
import { isObject } from '../values/json.ts';
import type { Tools } from './tools.ts';

type Emit = (event: MessageInitShape<typeof pb.ResponseEventSchema>) => void;

type ItemStatus = 'in_progress' | 'completed' | 'incomplete';
type PartType = 'output_text' | 'refusal' | 'reasoning_text';

/** A message or reasoning that is still open. */
interface OpenText {
  readonly type: 'message' | 'reasoning';
  readonly id: string;
  readonly outputIndex: number;
  readonly parts: pb.ResponseContentPart[];
  part: OpenPart | undefined;
  /** For reasoning, at its end: what the model needs again. */
  sealed?: string | undefined;
}

interface OpenPart {
  readonly type: PartType;
  text: string;
  readonly logprobs: pb.ResponseLogprob[];
  readonly annotations: JsonObject[];
}

/** The names of a call's item, its id, its events and its text, by the kind of tool. */
const callForms = {
  function: {
    type: 'function_call',
    id: 'fc',
    event: 'response.function_call_arguments',
    member: 'arguments',
  },
  custom: { type: 'custom_tool_call', id: 'ctc', event: 'response.custom_tool_call_input', member: 'input' },
} as const;

interface OpenCall extends CallSoFar {
  readonly id: string;
  readonly outputIndex: number;
  readonly callId: string;
}

export class Output {
  /** Items by index; open ones as they began. */
  readonly items: pb.ResponseItem[] = [];
  readonly #id: string;
  readonly #tools: Tools;
  readonly #reasoning: AnswerReasoning;
  readonly #emit: Emit;
  #text: OpenText | undefined;
  /** All of it so far, in Base64. */
  #audio = '';
  /** Whether parts are left out that this API does not have. */
  #isPartial = false;
  readonly #calls = new ToolCalls((call) => this.#openCall(call));

  /** @param id prefix of the items' ids */
  constructor(id: string, tools: Tools, reasoning: AnswerReasoning, emit: Emit) {
    this.#id = id;
    this.#tools = tools;
    this.#reasoning = reasoning;
    this.#emit = emit;
  }

  take(delta: ChatDelta, logprobs: readonly TokenLogprob[]): void {
    const { refusal = '', other } = delta;
    const { text, calls, images, audio, hasMore } = pieceOf(delta);
    this.#reasoning.take(other);
    this.#write('reasoning_text', reasoningText(other), []);
    this.#write('output_text', text, logprobs.map(toLogprob));
    for (const annotation of annotationsOf(other)) this.#annotate(annotation);
    this.#write('refusal', refusal, []);
    this.#audio += audio;
    for (const image of images) this.#addImage(image);
    if (hasMore && !this.#isPartial) this.#write('output_text', partLeftOut, []);
    this.#isPartial ||= hasMore;
    for (const call of calls) this.#call(call);
  }

  /**
   * Ends all items.
   * @param status of the open ones
   */
  close(status: ItemStatus): void {
    if (this.#audio !== '') this.#addAudio(joinedBase64(this.#audio));
    this.#endTurn(status);
    for (const call of this.#calls.all) this.#closeCall(call, status);
  }

  #write(type: PartType, delta: string, logprobs: readonly pb.ResponseLogprob[]): void {
    if (delta === '') return;
    const text = this.#openText(type === 'reasoning_text' ? 'reasoning' : 'message');
    const part = this.#openPart(text, type);
    part.text += delta;
    part.logprobs.push(...logprobs);
    this.#emit({ type: `response.${type}.delta`, ...placeOf(text), delta, logprobs: [...logprobs] });
  }

  #annotate(annotation: JsonObject): void {
    const text = this.#openText('message');
    const { annotations } = this.#openPart(text, 'output_text');
    const annotationIndex = annotations.push(annotation) - 1;
    const type = 'response.output_text.annotation.added';
    this.#emit({ type, ...placeOf(text), annotationIndex, annotation });
  }

  #addAudio(data: string): void {
    const text = this.#openText('message');
    this.#closePart(text);
    const part = create(pb.ResponseContentPartSchema, { type: 'output_audio', other: { data } });
    this.#emit({ type: 'response.content_part.added', ...placeOf(text), part });
    this.#emit({ type: 'response.content_part.done', ...placeOf(text), part });
    text.parts.push(part);
  }

  #addImage(result: string): void {
    this.#endTurn('completed');
    const outputIndex = this.items.length;
    const [type, id] = ['image_generation_call', this.#idOf('ig', outputIndex)];
    const begun = { type, id, status: 'in_progress', other: { result: null } };
    this.#addItem(create(pb.ResponseItemSchema, begun), outputIndex);
    const item = create(pb.ResponseItemSchema, { type, id, status: 'completed', other: { result } });
    this.#endItem(item, outputIndex);
  }

  /** A model that changes from reasoning to its answer, or back, ends the previous item. */
  #openText(type: OpenText['type']): OpenText {
    if (this.#text?.type === type) return this.#text;
    // Reasoning has its own at its end.
    if (type === 'message') this.#endTurn('completed');
    else this.#closeText('completed');
    const outputIndex = this.items.length;
    const id = this.#idOf(type === 'message' ? 'msg' : 'rs', outputIndex);
    this.#text = { type, id, outputIndex, parts: [], part: undefined };
    this.#addItem(textItem(this.#text, 'in_progress'), outputIndex);
    return this.#text;
  }

  #openPart(text: OpenText, type: PartType): OpenPart {
    if (text.part?.type === type) return text.part;
    this.#closePart(text);
    text.part = { type, text: '', logprobs: [], annotations: [] };
    this.#emit({ type: 'response.content_part.added', ...placeOf(text), part: partOf(text.part) });
    return text.part;
  }

  #closePart(text: OpenText): void {
    const { part: open } = text;
    if (open === undefined) return;
    const place = placeOf(text);
    const whole = open.type === 'refusal' ? { refusal: open.text } : { text: open.text };
    const part = partOf(open);
    this.#emit({ type: `response.${open.type}.done`, ...place, ...whole, logprobs: open.logprobs });
    this.#emit({ type: 'response.content_part.done', ...place, part });
    text.parts.push(part);
    text.part = undefined;
  }

  #closeText(status: ItemStatus): void {
    const text = this.#text;
    if (text === undefined) return;
    this.#closePart(text);
    this.#text = undefined;
    this.#endItem(textItem(text, status), text.outputIndex);
  }

  /** Ends a text. Gives the client what the model needs again, in an item of its own if no reasoning is open. */
  #endTurn(status: ItemStatus, beforeCall = false): void {
    const sealed = this.#reasoning.seal(beforeCall);
    if (sealed !== undefined) {
      if (this.#text?.type !== 'reasoning') this.#openText('reasoning');
      if (this.#text) this.#text.sealed = sealed;
    }
    this.#closeText(status);
  }

  #call(piece: ToolCall): void {
    const { call, delta } = this.#calls.take(piece);
    if (delta === '') return;
    const { kind, id: itemId, outputIndex } = call;
    this.#emit({ type: `${callForms[kind].event}.delta`, itemId, outputIndex, delta });
  }

  #openCall(begun: CallSoFar): OpenCall {
    const callId = begun.givenId || this.#idOf('call', this.items.length);
    this.#reasoning.takeCall(callId, begun.other);
    this.#endTurn('completed', true);
    const outputIndex = this.items.length;
    const id = this.#idOf(callForms[begun.kind].id, outputIndex);
    const call = { ...begun, id, outputIndex, callId };
    this.#addItem(this.#callItem(call, 'in_progress'), outputIndex);
    return call;
  }

  #closeCall(call: OpenCall, status: ItemStatus): void {
    const { kind, id: itemId, outputIndex, name, text } = call;
    const form = callForms[kind];
    this.#emit({
      type: `${form.event}.done`,
      itemId,
      outputIndex,
      [form.member]: text,
      ...(kind === 'function' && { name: this.#tools.clientName(name).name }),
    });
    this.#endItem(this.#callItem(call, status), outputIndex);
  }

  #callItem({ kind, id, callId, name, text }: OpenCall, status: ItemStatus): pb.ResponseItem {
    const { type, member } = callForms[kind];
    const named = this.#tools.clientName(name);
    return create(pb.ResponseItemSchema, { type, id, status, callId, ...named, [member]: text });
  }

  #addItem(item: pb.ResponseItem, outputIndex: number): void {
    this.items[outputIndex] = item;
    this.#emit({ type: 'response.output_item.added', outputIndex, item });
  }

  #endItem(item: pb.ResponseItem, outputIndex: number): void {
    this.items[outputIndex] = item;
    this.#emit({ type: 'response.output_item.done', outputIndex, item });
  }

  #idOf(kind: string, outputIndex: number): string {
    return `${kind}_${this.#id}_${outputIndex}`;
  }
}

function placeOf({ id: itemId, outputIndex, parts }: OpenText) {
  return { itemId, outputIndex, contentIndex: parts.length };
}

/** A chat has the members of a citation in an object of their own. */
function annotationsOf(other: JsonObject | undefined): JsonObject[] {
  const annotations = other?.['annotations'];
  if (!Array.isArray(annotations)) return [];
  return annotations.filter(isObject).map(({ type, ...members }) => {
    const inner = typeof type === 'string' ? members[type] : undefined;
    return { ...(type !== undefined && { type }), ...(isObject(inner) ? inner : members) };
  });
}

function partOf({ type, text, logprobs, annotations }: OpenPart): pb.ResponseContentPart {
  return create(pb.ResponseContentPartSchema, {
    type,
    ...(type === 'refusal'
      ? { refusal: text }
      : { text, logprobs: [...logprobs], annotations: [...annotations] }),
  });
}

/** Clients expect a summary of reasoning. */
function textItem({ type, id, parts, sealed }: OpenText, status: ItemStatus): pb.ResponseItem {
  return create(pb.ResponseItemSchema, {
    type,
    id,
    status,
    ...(type === 'message' ? { role: 'assistant' } : { encryptedContent: sealed, other: { summary: [] } }),
    content: { value: { case: 'parts', value: { items: [...parts] } } },
  });
}

function toLogprob({ token, logprob, bytes, topLogprobs }: TokenLogprob): pb.ResponseLogprob {
  return create(pb.ResponseLogprobSchema, { token, logprob, bytes, topLogprobs: topLogprobs.map(toLogprob) });
}
