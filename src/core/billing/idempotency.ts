/**
 * `Idempotency-Key`: the first good answer under a key is kept and given again, free of charge, to whoever repeats the
 * request. A failure frees the key.
 */
import { type DescMessage, fromBinary, type Message, type MessageShape, toBinary } from '@bufbuild/protobuf';
import type { Call } from '../call.ts';
import { ParleyError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { IdempotencyClaim } from '../ports/idempotency.ts';
import type { Store } from '../ports/store.ts';
import { fingerprintOf } from './fingerprint.ts';

/** How long an answer is kept: 24 hours. */
export const keptMs = 24 * 60 * 60 * 1000;
const keyCharactersMax = 255;
/** An answer that is larger is not kept: the key is freed, and a repetition runs again. */
const answerBytesMax = 8 * 1024 * 1024;
/** How deep a message that was kept may be nested: one that was made here may go deeper than those of strangers. */
const recursionLimit = 1_000;
const retryAfterSeconds = 1;

export interface IdempotencyDeps {
  readonly store: Store;
  readonly clock: Clock;
}

/** A request under a key, and how its answer is kept. */
export interface Repeatable<Answer> {
  readonly answerForm: AnswerForm<Answer>;
  readonly request: Message;
  readonly call: Call;
}

/** How an answer is written down and read again. */
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

  constructor(deps: IdempotencyDeps) {
    this.#deps = deps;
  }

  /**
   * Runs a request, or gives the answer of its first run again. Without a key it just runs. The answer is kept by the
   * write that settles the request, so that it is charged once whatever happens in between.
   * @throws `invalid_parameter` for a key of the wrong length; `idempotency_conflict` where the key belongs to another
   *   request, or its first request still runs
   */
  async run<Answer>(repeatable: Repeatable<Answer>, run: () => Promise<Answer>): Promise<Answer> {
    const claim = this.#claimOf(repeatable);
    if (claim === undefined) return run();
    const { answerForm, call } = repeatable;
    const kept = await this.#take(claim, call);
    if (kept) return answerForm.fromBytes(kept);
    const answer = await run();
    const bytes = answerForm.toBytes(answer);
    if (bytes.length > answerBytesMax) return answer;
    call.metering.keepAnswer(bytes);
    // As it was kept, so that the first answer is the same to the letter as those that repeat it.
    return answerForm.fromBytes(bytes);
  }

  /** The same for an answer in parts: they leave as they come, and together they are what is kept. */
  async *runParts<Part>(repeatable: Repeatable<Part>, run: () => AsyncIterable<Part>): AsyncGenerator<Part> {
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
    if (bytes <= answerBytesMax) call.metering.keepAnswer(joinParts(parts));
  }

  #claimOf({ call, request }: Pick<Repeatable<unknown>, 'call' | 'request'>): IdempotencyClaim | undefined {
    const key = call.idempotencyKey;
    if (key === undefined) return undefined;
    if (key === '' || key.length > keyCharactersMax) {
      throw new ParleyError('invalid_parameter', {
        message: `\`Idempotency-Key\` must have 1 to ${keyCharactersMax} characters.`,
        param: 'Idempotency-Key',
      });
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

  /** The kept answer, its record written; undefined where the request is the first under its key. */
  async #take(claim: IdempotencyClaim, call: Call): Promise<Uint8Array | undefined> {
    const outcome = await this.#deps.store.claimAnswer(claim);
    switch (outcome.kind) {
      case 'claimed':
        call.metering.holdClaim(claim);
        return undefined;
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

/** Each part behind its length, as four bytes. */
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
