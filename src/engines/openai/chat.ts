import type { ChatCompletionParams } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ChunkLayout } from '../../codec/spliced-chunk.ts';
import { checkWhole } from '../../core/chat/checks.ts';
import { type ChatAnswer, type ChatChunk, messageChunk } from '../../core/entities/chat-answer.ts';
import { asChunk } from '../../core/entities/chat-output.ts';
import type { ChatEngine } from '../../core/entities/engine.ts';
import { StreamChoices } from '../../core/entities/stream-choices.ts';
import type { Signal } from '../../core/values/signal.ts';
import { answerBytesMax, chatAnswerBytesMax } from '../answer-limits.ts';
import type { UpstreamAnswer } from './calls/answer.ts';
import { CallNumbers } from './chat/call-numbers.ts';
import { MessageChunks } from './chat/choice-forms.ts';
import { joinEvents } from './chat/joined-chunks.ts';
import { type Report, readAnswer, readChunk, readWhole, toUpstreamParams } from './chat/json.ts';
import { isOpenAi, type LimitName, tokenizerOf } from './chat/limit-names.ts';
import { areEvents, beginningOf, doneData, type SseEvent, SseReader } from './chat/sse.ts';
import type { Known } from './reported-value.ts';
import type { UpstreamModel } from './settings.ts';

const jsonHeaders = { 'content-type': 'application/json', accept: 'application/json' };
const eventHeaders = { ...jsonHeaders, accept: 'text/event-stream' };

interface ChatModel extends UpstreamModel {
  readonly limitName: LimitName;
  /** Set if the model's context is read from the upstream. */
  readonly context: Known<number> | undefined;
}

export function createOpenAiChat({ upstream, settings, model, limitName, context }: ChatModel): ChatEngine {
  const { baseUrl, parameters = {}, eventCharactersMax = answerBytesMax } = settings;
  // Otherwise such messages become system messages.
  const takesDeveloper = isOpenAi(baseUrl) || settings.isParley === true;
  const post = (params: ChatCompletionParams, stream: boolean, signal: Signal) =>
    limitName.withName((limitNames) => {
      const body = toUpstreamParams(params, { model, stream, limitNames, parameters, takesDeveloper });
      const headers = stream ? eventHeaders : jsonHeaders;
      return upstream.call({ method: 'POST', path: '/chat/completions', headers, body, sent: body, signal });
    });
  const report = (body: string) => upstream.reportedError(body);
  return {
    tokenizer: tokenizerOf(baseUrl, model),
    // A model whose upstream is unreachable stays in the catalog; calls to it fail with `upstream_error`.
    availability: () => context?.availability() ?? { available: true },
    contextTokens: () => context?.value(),
    complete: async (params, signal) => {
      const answer = await post(params, false, signal);
      return readAnswer(await answer.json(chatAnswerBytesMax(params), joinEvents), report);
    },
    stream: (params, signal) => {
      let hasBegun = false;
      const reportWithin = (body: string) => upstream.reportedError(body, hasBegun);
      const chunks = new ChunkReader(reportWithin);
      const toChunk = ({ name, data }: SseEvent) => {
        if (name === 'error') throw reportWithin(data);
        const chunk = chunks.read(data);
        hasBegun = true;
        return chunk;
      };
      const ask = () => post(params, true, signal);
      return chunksOf(ask, {
        eventCharactersMax,
        bytesMax: chatAnswerBytesMax(params),
        toChunk,
        isEnd: ({ data }) => data === doneData,
        end: () => chunks.end(),
        toAnswer: (json) => readAnswer(json, report),
      });
    },
  };
}

interface StreamReading {
  readonly eventCharactersMax: number;
  readonly bytesMax: number;
  readonly toChunk: ToChunk;
  readonly isEnd: (event: SseEvent) => boolean;
  /** The chunk that ends the choices which are open at `[DONE]`. */
  readonly end: () => ChatChunk | undefined;
  /** Reads the whole answer that a server sends in place of a stream. */
  readonly toAnswer: (json: unknown) => ChatAnswer;
}

/**
 * The chunks of a stream, up to its end or `[DONE]`, which ends all choices. The caller checks for finish reasons. The content
 * decides, as some servers give it a wrong type, and some answer with plain JSON.
 */
export async function* chunksOf(
  ask: () => Promise<UpstreamAnswer>,
  { eventCharactersMax, bytesMax, end, toAnswer, ...reading }: StreamReading,
): AsyncGenerator<readonly ChatChunk[]> {
  const answer = await ask();
  const reader = new SseReader(eventCharactersMax);
  let json: Buffer[] | undefined;
  let isKnown = false;
  let last: ReadChunks | undefined;
  try {
    // The upstream has begun its answer.
    yield [];
    for (let piece = await answer.next(bytesMax); piece; piece = await answer.next(bytesMax)) {
      if (!isKnown) {
        const beginning = beginningOf(piece);
        isKnown = beginning !== '';
        const mayBeEvents = !isKnown || answer.contentType === 'text/event-stream' || areEvents(beginning);
        if (beginning.startsWith('{')) json = [];
        else if (!mayBeEvents) {
          throw answer.refuse(`the answer is ${answer.contentType || 'of no type'}, not a stream of events`);
        }
        // Blanks before the answer say nothing, and may be as many as its bytes.
        if (!isKnown) continue;
      }
      json?.push(piece);
      if (json) continue;
      const read = readChunks(reader.read(piece), reading);
      if (read.isDone) answer.complete();
      if (read.isDone || read.failure) {
        last = read;
        break;
      }
      if (read.chunks.length > 0) yield read.chunks;
    }
  } finally {
    answer.close();
  }
  if (json) {
    const whole = toAnswer(readWhole(Buffer.concat(json)));
    checkWhole(whole);
    return yield [messageChunk(asChunk(whole.message))];
  }
  last ??= readChunks(reader.end(), reading);
  if (last.chunks.length > 0) yield last.chunks;
  if (last.failure) throw last.failure.reason;
  const ending = last.isDone ? end() : undefined;
  if (ending) yield [ending];
}

/** Undefined for an event without news. */
type ToChunk = (event: SseEvent) => ChatChunk | undefined;

interface ReadChunks {
  readonly chunks: readonly ChatChunk[];
  readonly isDone?: boolean;
  readonly failure?: { readonly reason: unknown };
}

/** Reads events up to `[DONE]` or the first that is not a chunk. The chunks before it still reach the client. */
function readChunks(
  events: readonly SseEvent[],
  { isEnd, toChunk }: Pick<StreamReading, 'isEnd' | 'toChunk'>,
): ReadChunks {
  const chunks: ChatChunk[] = [];
  for (const event of events) {
    if (isEnd(event)) return { chunks, isDone: true };
    try {
      const chunk = toChunk(event);
      if (chunk) chunks.push(chunk);
    } catch (reason) {
      return { chunks, failure: { reason } };
    }
  }
  return { chunks };
}

/** Enough for a stream with several choices, each with text and reasoning. */
const layoutsMax = 8;
/** Maximum number of learned layouts without use, as learning costs as much as parsing a few chunks. */
const attemptsMax = 8;
/** A layout is worth learning if it serves this many chunks. */
const chunksWorth = 4;

/** Reads the chunks of one stream. Parses those with a new layout, and only compares the others with a known one. */
export class ChunkReader {
  readonly #report: Report;
  readonly #layouts: ChunkLayout[] = [];
  readonly #numbers = new CallNumbers();
  readonly #messages = new MessageChunks();
  readonly #choices = new StreamChoices();
  #attempts = attemptsMax;

  constructor(report: Report) {
    this.#report = report;
  }

  /** @throws `upstream_error` if the chunk is an error or malformed */
  read(data: string): ChatChunk {
    const chunk = this.#read(data);
    this.#choices.note(chunk);
    return chunk;
  }

  /** The chunk that a whole stream lacks. Some servers send no finish reason, and end with `[DONE]`. */
  end(): ChatChunk | undefined {
    return this.#choices.end((choice) => (this.#numbers.has(choice) ? 'tool_calls' : 'stop'));
  }

  /** Whether a chunk is known by those before it, not by its layout. */
  get #isIrregular(): boolean {
    return this.#numbers.areNeeded || this.#messages.areThere;
  }

  #read(data: string): ChatChunk {
    const layouts = this.#isIrregular ? [] : this.#layouts;
    for (const layout of layouts) {
      const chunk = layout.read(data);
      if (chunk === undefined) continue;
      this.#attempts = Math.min(attemptsMax, this.#attempts + 1 / chunksWorth);
      return chunk;
    }
    const chunk = readChunk(data, this.#report, this.#numbers, this.#messages);
    if (!this.#isIrregular && this.#attempts >= 1 && chunk.output.text !== '') this.#learn(data);
    return chunk;
  }

  #learn(data: string): void {
    this.#attempts--;
    const layout = ChunkLayout.of(data);
    if (layout === undefined) return;
    this.#layouts.unshift(layout);
    if (this.#layouts.length > layoutsMax) this.#layouts.pop();
  }
}
