import type { JsonObject } from '@bufbuild/protobuf';
import { objectsOf, stringOf } from '../../../codec/shape.ts';
import { type CallSoFar, ToolCalls } from '../../../core/entities/tool-calls.ts';
import { isObject } from '../../../core/values/json.ts';

/**
 * Gives the pieces of a stream's tool calls their `index`, by which clients join them. Some servers number all calls 0,
 * some none; a number that is right is kept.
 */
export class CallNumbers {
  /** By the index of the choice. */
  readonly #calls = new Map<number, ToolCalls<NumberedCall>>();
  #areNeeded = false;

  /** Whether the server does not number its calls, or gives them no ids, so that a piece is known by those before it. */
  get areNeeded(): boolean {
    return this.#areNeeded;
  }

  has(choice: number): boolean {
    return this.#calls.has(choice);
  }

  /** Changes the JSON of a chunk. */
  give(chunk: JsonObject): void {
    for (const { index, delta } of objectsOf(chunk['choices'])) {
      const pieces = isObject(delta) ? objectsOf(delta['tool_calls']) : [];
      if (pieces.length === 0) continue;
      const calls = this.#callsOf(typeof index === 'number' ? index : 0);
      for (const piece of pieces) {
        const { call } = calls.take(partsOf(piece));
        this.#areNeeded ||= call.givenId === '' || piece['index'] !== call.number;
        piece['index'] = call.number;
      }
    }
  }

  #callsOf(choice: number): ToolCalls<NumberedCall> {
    let calls = this.#calls.get(choice);
    if (calls === undefined) {
      const numbers = new Set<number>();
      calls = new ToolCalls((call) => {
        let number = call.index ?? 0;
        while (numbers.has(number)) number++;
        numbers.add(number);
        return { ...call, number };
      });
      this.#calls.set(choice, calls);
    }
    return calls;
  }
}

interface NumberedCall extends CallSoFar {
  readonly number: number;
}

function partsOf({ index, id, type, function: called, custom }: JsonObject) {
  return {
    index: typeof index === 'number' ? index : undefined,
    id: stringOf(id),
    type: stringOf(type),
    function: isObject(called) ? textsOf(called, 'arguments') : undefined,
    custom: isObject(custom) ? textsOf(custom, 'input') : undefined,
  };
}

function textsOf(part: JsonObject, member: 'arguments' | 'input') {
  return { name: stringOf(part['name']), [member]: stringOf(part[member]) };
}
