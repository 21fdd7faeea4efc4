/** Brings the choices of upstreams that write them in other forms into that of the OpenAI API. */
import type { JsonObject } from '@bufbuild/protobuf';
import { objectsOf, stringOf } from '../../../codec/shape.ts';
import { isObject } from '../../../core/values/json.ts';

/** Some servers send a single call without its list. Changes the JSON of an answer or a chunk. */
export function listCalls(answer: JsonObject): void {
  for (const { message, delta } of objectsOf(answer['choices'])) {
    for (const part of [message, delta]) {
      if (isObject(part) && isObject(part['tool_calls'])) part['tool_calls'] = [part['tool_calls']];
    }
  }
}

interface ChoiceSoFar {
  /** Members of its deltas that had a value. */
  readonly members: Set<string>;
  /** Those of its messages. */
  readonly written: Set<string>;
  /** The text of its messages. */
  text: string;
}

/**
 * Chunks with `message` in place of `delta`: some servers send each piece so, others repeat the whole answer so at the end, which
 * must not be doubled.
 */
export class MessageChunks {
  readonly #choices = new Map<number, ChoiceSoFar>();
  #areThere = false;

  /** Whether the stream has such chunks, so that each must be parsed. */
  get areThere(): boolean {
    return this.#areThere;
  }

  /** Changes the JSON of a chunk. */
  give(chunk: JsonObject): void {
    for (const choice of objectsOf(chunk['choices'])) {
      const { index, delta, message } = choice;
      const soFar = this.#choiceOf(typeof index === 'number' ? index : 0);
      if (isObject(delta)) noteMembers(delta, soFar.members);
      if (!isObject(message)) continue;
      this.#areThere = true;
      delete choice['message'];
      const piece = pieceOf(message, soFar, stringOf(choice['finish_reason']) !== '');
      choice['delta'] = { ...piece, ...(isObject(delta) && delta) };
    }
  }

  #choiceOf(index: number): ChoiceSoFar {
    const soFar = this.#choices.get(index) ?? { members: new Set(), written: new Set(), text: '' };
    this.#choices.set(index, soFar);
    return soFar;
  }
}

function noteMembers(delta: JsonObject, members: Set<string>): void {
  for (const [name, value] of Object.entries(delta)) {
    const isEmpty = value === null || value === '' || (Array.isArray(value) && value.length === 0);
    if (!isEmpty) members.add(name);
  }
}

/** The members of a message that the stream did not have before. @param isLast whether the choice ends with it */
function pieceOf(message: JsonObject, soFar: ChoiceSoFar, isLast: boolean): JsonObject {
  const { members, written } = soFar;
  const text = members.has('content') ? '' : stringOf(message['content']);
  // A piece that is all of the text before, once more.
  const isRepeated = isLast && text !== '' && text === soFar.text;
  const isNew = ([name]: readonly [string, unknown]) =>
    !members.has(name) && !(isRepeated && written.has(name));
  const piece = Object.fromEntries(Object.entries(message).filter(isNew));
  noteMembers(piece, written);
  soFar.text += text;
  return piece;
}
