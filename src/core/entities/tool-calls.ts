/** Joins the pieces of an answer's tool calls, for every form of answer. */
import type { JsonObject } from '@bufbuild/protobuf';

type Texts<Name extends string> = { readonly [name in Name]?: string | undefined };

/** A piece of a call: a message of the schema, or its parts. */
interface CallPiece {
  readonly index?: number | undefined;
  readonly id?: string | undefined;
  readonly type?: string | undefined;
  readonly function?: Texts<'name' | 'arguments'> | undefined;
  readonly custom?: Texts<'name' | 'input'> | undefined;
  readonly other?: JsonObject | undefined;
}

export interface CallSoFar {
  readonly kind: 'function' | 'custom';
  /** The model's index among the calls; undefined if it gives none. */
  readonly index: number | undefined;
  /** The model's id of the call; empty if it gives none. */
  readonly givenId: string;
  name: string;
  /** Arguments or input of the call. */
  text: string;
  /** Unknown members of its first piece. */
  readonly other?: JsonObject | undefined;
}

export class ToolCalls<Call extends CallSoFar = CallSoFar> {
  readonly all: Call[] = [];
  readonly #ends = new Map<Call, ObjectEnd>();
  readonly #begin: (call: CallSoFar) => Call;

  /** @param begin creates a call from its first piece, without its text */
  constructor(begin: (call: CallSoFar) => Call) {
    this.#begin = begin;
  }

  /** @returns the call that the piece begins or continues, and the text that it adds */
  take(piece: CallPiece): { readonly call: Call; readonly delta: string } {
    const { type, index, id: givenId = '', custom, function: called, other } = piece;
    const { name = '' } = custom ?? called ?? {};
    const delta = custom?.input ?? called?.arguments ?? '';
    let call = this.all.findLast((open) => this.#isContinued(open, piece, { name, delta }));
    if (call === undefined) {
      const kind = custom || type === 'custom' ? 'custom' : 'function';
      call = this.#begin({ kind, index, givenId, name, text: '', other });
      this.all.push(call);
      this.#ends.set(call, new ObjectEnd());
    }
    call.name ||= name;
    call.text += delta;
    this.#ends.get(call)?.take(delta);
    return { call, delta };
  }

  /**
   * Some servers number all calls 0, some none, and some give all the same id, so a call begins with its own id, or with a name after a
   * whole call. Some repeat id and name at the end, without arguments.
   */
  #isContinued(
    open: Call,
    { index, id }: CallPiece,
    { name, delta }: { name: string; delta: string },
  ): boolean {
    if (index !== undefined && index !== open.index) return false;
    if (id && (id !== open.givenId || delta.trim() === '')) return id === open.givenId;
    return name === '' || open.name === '' || !this.#ends.get(open)?.isReached;
  }
}

/** Finds the end of a JSON object that arrives in pieces. Reads each letter once, however many pieces there are. */
class ObjectEnd {
  isReached = false;
  #depth = 0;
  #isText = false;
  #isEscaped = false;

  take(piece: string): void {
    for (const letter of piece) this.#read(letter);
  }

  #read(letter: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#isText && letter === '\\') this.#isEscaped = true;
    else if (letter === '"') this.#isText = !this.#isText;
    else if (!this.#isText && letter === '{') this.#depth++;
    else if (!this.#isText && letter === '}') this.isReached = --this.#depth === 0;
  }
}
