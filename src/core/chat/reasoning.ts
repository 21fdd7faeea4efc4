/**
 * Reasoning that a model wants back in the next turn, such as `reasoning_content` beside calls, or the thought signatures of calls.
 * The Responses and Messages APIs have no place for it, and nothing is stored: it travels in the conversation of the client, signed.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { ChatMessage } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { reasoningMembers } from '../entities/chat-output.ts';
import type { AccountId } from '../values/ids.ts';
import { isObject } from '../values/json.ts';

/** More bytes of JSON are not given out. */
const reasoningBytesMax = 1_048_576;
const signatureBytes = 32;
const sealedCharactersMax = Math.ceil(((reasoningBytesMax + signatureBytes) * 4) / 3);

const carriedMembers: ReadonlySet<string> = new Set([
  ...reasoningMembers,
  ...['extra_content', 'reasoning_signature', 'thought_signature'],
]);
/** Texts of pieces that servers send in parts. */
const pieceTexts = ['text', 'summary', 'thinking'];

export interface Reasoning {
  readonly members: JsonObject;
  /** Unknown members of calls, by the id of the call. */
  readonly calls: Readonly<Record<string, JsonObject>>;
}

/** Reads what the server has signed for this account and model. Undefined for anything else. */
export type OpenReasoning = (sealed: string | undefined) => Reasoning | undefined;

/** Signs reasoning for one account and one model: another model may refuse it. */
export class ReasoningSeal {
  readonly #secret: string;

  /** @param secret shared by the servers of a database */
  constructor(secret: string) {
    this.#secret = secret;
  }

  /** @returns undefined for reasoning that is too long */
  seal(accountId: AccountId, model: string, reasoning: Reasoning): string | undefined {
    const content = Buffer.from(JSON.stringify(reasoning));
    if (content.length > reasoningBytesMax) return undefined;
    return Buffer.concat([this.#sign(accountId, model, content), content]).toString('base64url');
  }

  opening(accountId: AccountId, model = ''): OpenReasoning {
    return (sealed = '') => {
      if (sealed === '' || sealed.length > sealedCharactersMax) return undefined;
      const bytes = Buffer.from(sealed, 'base64url');
      const content = bytes.subarray(signatureBytes);
      if (content.length === 0) return undefined;
      const isOwn = timingSafeEqual(bytes.subarray(0, signatureBytes), this.#sign(accountId, model, content));
      return isOwn ? (JSON.parse(content.toString()) as Reasoning) : undefined;
    };
  }

  #sign(accountId: AccountId, model: string, content: Buffer): Buffer {
    const purpose = JSON.stringify(['parley reasoning', accountId, model]);
    return createHmac('sha256', this.#secret).update(`${purpose}\n`).update(content).digest();
  }
}

export class AnswerReasoning {
  readonly #seal: ReasoningSeal;
  readonly #accountId: AccountId;
  #members: JsonObject = {};
  readonly #calls = new Map<string, JsonObject>();
  model = '';

  constructor(seal: ReasoningSeal, accountId: AccountId) {
    this.#seal = seal;
    this.#accountId = accountId;
  }

  take(members: JsonObject | undefined): void {
    if (members) joinMembers(this.#members, members);
  }

  takeCall(id: string, members: JsonObject | undefined): void {
    if (members && Object.keys(members).length > 0) this.#calls.set(id, members);
  }

  /**
   * Signs what was taken since the last call of this function. Undefined if there is nothing.
   * @param beforeCall whether a call follows: some servers want even an empty reasoning beside it
   */
  seal(beforeCall = false): string | undefined {
    const members = this.#members;
    const isEmpty = this.#calls.size === 0 && Object.values(members).every((value) => value === '');
    if (isEmpty && !(beforeCall && Object.keys(members).length > 0)) return undefined;
    const calls = Object.fromEntries(this.#calls);
    this.#members = {};
    this.#calls.clear();
    return this.#seal.seal(this.#accountId, this.model, { members, calls });
  }
}

/** Gives the reasoning of an earlier answer back to its messages. */
export class EarlierReasoning {
  readonly #open: OpenReasoning | undefined;
  #members: JsonObject = {};
  readonly #calls = new Map<string, JsonObject>();

  constructor(open: OpenReasoning | undefined) {
    this.#open = open;
  }

  take(sealed: string | undefined): void {
    const { members = {}, calls = {} } = this.#open?.(sealed) ?? {};
    joinMembers(this.#members, members);
    for (const [id, other] of Object.entries(calls)) this.#calls.set(id, other);
  }

  /** Adds what was taken to a message of the assistant and its calls. */
  giveTo(message: ChatMessage): void {
    if (Object.keys(this.#members).length > 0) {
      message.other ??= {};
      joinMembers(message.other, this.#members);
      this.#members = {};
    }
    for (const call of message.toolCalls) call.other ??= this.#calls.get(call.id ?? '');
  }

  /** The next message is of another turn. */
  drop(): void {
    this.#members = {};
    this.#calls.clear();
  }
}

function joinMembers(target: JsonObject, members: JsonObject): void {
  for (const [name, value] of Object.entries(members)) {
    if (!carriedMembers.has(name) || value === null || (Array.isArray(value) && value.length === 0)) continue;
    target[name] = joined(target[name], value);
  }
}

/** A text or a list with its next piece. Any other value replaces the one before. */
export function joined(before: JsonValue | undefined, value: JsonValue): JsonValue {
  if (typeof before === 'string' && typeof value === 'string') return before + value;
  if (!Array.isArray(value)) return value;
  const pieces = Array.isArray(before) ? before : [];
  for (const piece of value) addPiece(pieces, piece);
  return pieces;
}

/** Some servers send each few letters as a piece with the number of the one before. */
function addPiece(pieces: JsonValue[], piece: JsonValue): void {
  const last = pieces.at(-1);
  if (!isObject(last) || !isObject(piece) || !isContinued(last, piece)) {
    pieces.push(piece);
    return;
  }
  for (const [name, value] of Object.entries(piece)) {
    const before = last[name];
    const isText = pieceTexts.includes(name) && typeof before === 'string' && typeof value === 'string';
    if (isText) last[name] = before + value;
    else if (value !== null) last[name] = value;
  }
}

function isContinued(last: JsonObject, piece: JsonObject): boolean {
  return (
    last['type'] === piece['type'] &&
    last['index'] === piece['index'] &&
    [last, piece].every((part) => pieceTexts.some((name) => typeof part[name] === 'string'))
  );
}
