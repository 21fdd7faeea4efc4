/**
 * `Idempotency-Key`: stores the first successful answer under a key and replays it, free of charge, when the request is
 * repeated. A failure frees the key.
 */

import { createHash } from 'node:crypto';
import { type DescMessage, fromBinary, type Message, type MessageShape, toBinary } from '@bufbuild/protobuf';
import type { Call } from '../access/call.ts';
import { type IdempotencyClaim, keptMs, recordBytes } from '../entities/idempotency.ts';
import type { Store } from '../entities/store.ts';
import { bounds, hasLength } from '../values/bounds.ts';
import type { Clock } from '../values/clock.ts';
import { ParleyError } from '../values/errors.ts';
import type { AccountId } from '../values/ids.ts';
import { invalid } from '../values/parameters.ts';
import { breathe } from '../values/soon.ts';

/** A larger answer is not stored. The key is freed, and a repeated request runs again. */
const answerBytesMax = 8 * 1024 * 1024;
/** Nesting of a stored message. Parley's own answers may be nested deeper than requests. */
const recursionLimit = 1_000;
const retryAfterSeconds = 1;
/** Number of accounts whose stored bytes are known. Any other account is measured after its next answer. */
const knownAccountsMax = 10_000;
/** Share of an account's answers that is removed at a time. */
const roomShare = 1 / 16;

export interface IdempotencyDeps {
  readonly store: Pick<Store, 'idempotency'>;
  readonly clock: Clock;
  /** Maximum bytes of answers that are stored for an account. */
  readonly bytesPerAccountMax: number;
}

/** A request that may have an Idempotency-Key, and the encoding of its answer. */
export interface Repeatable<Answer> {
  readonly answerForm: AnswerForm<Answer>;
  readonly request: Message;
  readonly call: Call;
}

/** Encodes and decodes a stored answer. */
export interface AnswerForm<Answer> {
  toBytes(answer: Answer): Uint8Array;
  fromBytes(bytes: Uint8Array): Answer;
}

export function messageForm<Desc extends DescMessage>(schema: Desc): AnswerForm<MessageShape<Desc>> {
  return {
    toBytes: (answer) => toBinary(schema, answer),
    fromBytes: (bytes) => fromBinary(schema, bytes, { recursionLimit }),
  };
}

export class Idempotency {
  readonly #deps: IdempotencyDeps;
  /** Bytes stored for an account since its oldest answers were last removed. */
  readonly #addedBytes = new Map<AccountId, number>();

  constructor(deps: IdempotencyDeps) {
    this.#deps = deps;
  }

  /**
   * Runs a request, or replays the answer of its first run. The write that settles the request also stores the answer,
   * so a request is charged only once.
   * @throws `invalid_parameter` for a key of the wrong length; `idempotency_conflict` if the key belongs to another
   * request, or its first request still runs; `insufficient_scope` if the caller may not call the model
   */
  run<Answer>(repeatable: Repeatable<Answer>, run: () => Promise<Answer>): Promise<Answer> {
    return repeatable.call.idempotencyKey === undefined ? run() : this.#runOnce(repeatable, run);
  }

  async #runOnce<Answer>(repeatable: Repeatable<Answer>, run: () => Promise<Answer>): Promise<Answer> {
    const { answerForm, call } = repeatable;
    await breathe(call.requestBytes);
    const claim = this.#claimOf(repeatable);
    if (claim === undefined) return run();
    const kept = await this.#take(claim, call);
    if (kept) return answerForm.fromBytes(kept);
    const answer = await run();
    const bytes = answerForm.toBytes(answer);
    if (bytes.length > answerBytesMax) return answer;
    this.#keep(bytes, call);
    // Decode the stored bytes, so that the first answer and its replays are identical.
    return answerForm.fromBytes(bytes);
  }

  /** The same for a streamed answer. Parts pass through, and are stored together. */
  runParts<Part>(repeatable: Repeatable<Part>, run: () => AsyncGenerator<Part>): AsyncGenerator<Part> {
    return repeatable.call.idempotencyKey === undefined ? run() : this.#runPartsOnce(repeatable, run);
  }

  async *#runPartsOnce<Part>(
    repeatable: Repeatable<Part>,
    run: () => AsyncGenerator<Part>,
  ): AsyncGenerator<Part> {
    const claim = this.#claimOf(repeatable);
    if (claim === undefined) return yield* run();
    const { answerForm, call } = repeatable;
    const kept = await this.#take(claim, call);
    if (kept) return yield* splitParts(kept).map((part) => answerForm.fromBytes(part));
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of run()) {
      const encoded = answerForm.toBytes(part);
      bytes += encoded.length;
      if (bytes <= answerBytesMax) parts.push(encoded);
      yield part;
    }
    if (bytes <= answerBytesMax) this.#keep(joinParts(parts), call);
  }

  #keep(answer: Uint8Array, { metering, caller }: Call): void {
    metering.keepAnswer(answer);
    const { id } = caller.account;
    if (this.#addedBytes.size >= knownAccountsMax && !this.#addedBytes.has(id)) this.#addedBytes.clear();
    this.#addedBytes.set(id, (this.#addedBytes.get(id) ?? Infinity) + answer.length + recordBytes);
  }

  /** Removes the oldest answers of an account whenever a share of its maximum has been added. */
  async #makeRoom(accountId: AccountId): Promise<void> {
    const { store, bytesPerAccountMax } = this.#deps;
    const room = bytesPerAccountMax * roomShare;
    if ((this.#addedBytes.get(accountId) ?? 0) < room) return;
    // Prevents other requests from removing answers at the same time.
    this.#addedBytes.set(accountId, 0);
    try {
      await store.idempotency.removeOldest(accountId, Math.floor(bytesPerAccountMax - room));
    } catch (error) {
      this.#addedBytes.set(accountId, Infinity);
      throw error;
    }
  }

  #claimOf({ call, request }: Pick<Repeatable<unknown>, 'call' | 'request'>): IdempotencyClaim | undefined {
    const key = call.idempotencyKey;
    if (key === undefined) return undefined;
    if (!hasLength(key, bounds.idempotencyKey)) {
      const length = `1 to ${bounds.idempotencyKey.maxLength} characters`;
      throw invalid('Idempotency-Key', `\`Idempotency-Key\` must have ${length}.`);
    }
    const nowMs = this.#deps.clock.now();
    return {
      accountId: call.caller.account.id,
      operation: call.operation,
      key,
      fingerprint: fingerprintOf([request, call.answerForm]),
      requestId: call.id,
      nowMs,
      forgetBeforeMs: nowMs - keptMs,
    };
  }

  /** Claims the key. Returns the stored answer to replay, or undefined for the first request under the key. */
  async #take(claim: IdempotencyClaim, call: Call): Promise<Uint8Array | undefined> {
    await this.#makeRoom(claim.accountId);
    const outcome = await this.#deps.store.idempotency.claim(claim);
    if (outcome.kind === 'claimed') {
      call.metering.holdClaim(claim);
      return undefined;
    }
    // The first request may be that of another key of the account.
    call.metering.checkModel();
    switch (outcome.kind) {
      case 'kept':
        call.isReplay = true;
        await call.metering.replay();
        return outcome.answer;
      case 'running':
        throw new ParleyError('idempotency_conflict', {
          message: 'The first request under this Idempotency-Key is still running. Try again in a moment.',
          retryAfterSeconds,
        });
      case 'conflict':
        throw new ParleyError('idempotency_conflict', {
          message: 'This Idempotency-Key was used for another request. Choose a new key.',
        });
    }
  }
}

/** Encodes parts, each preceded by its length in four bytes. */
function joinParts(parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(part.length);
      return [length, part];
    }),
  );
}

function splitParts(joined: Uint8Array): Uint8Array[] {
  const view = new DataView(joined.buffer, joined.byteOffset, joined.byteLength);
  const parts: Uint8Array[] = [];
  for (let offset = 0; offset < joined.length; ) {
    const length = view.getUint32(offset);
    parts.push(joined.subarray(offset + 4, offset + 4 + length));
    offset += 4 + length;
  }
  return parts;
}

/** A hash of a request's fields, 256 bits in hexadecimal. The order of members in an object does not matter. */
function fingerprintOf(fields: unknown): string {
  return sha256(JSON.stringify(canonical(fields)));
}

/** The value with sorted members, and with hashes in place of bytes. */
function canonical(value: unknown): unknown {
  if (value instanceof Uint8Array) return sha256(value);
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, canonical(member)]));
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
