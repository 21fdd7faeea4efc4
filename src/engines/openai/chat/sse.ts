import { createParser, type EventSourceParser } from 'eventsource-parser';
import { malformedResponse } from '../errors.ts';

export const doneData = '[DONE]';
/** Enough to tell events from JSON. */
const beginningLength = 1_024;

/** The beginning of a body in Latin-1, without a byte order mark and blanks. */
export function beginningOf(body: Buffer): string {
  return body.toString('latin1', 0, beginningLength).replace('\xef\xbb\xbf', '').trimStart();
}

/** Whether a body begins with a comment or a field. */
export function areEvents(beginning: string): boolean {
  return /^(:|data|event|id|retry)/.test(beginning);
}

export interface SseEvent {
  /** Undefined if the event has none. */
  readonly name: string | undefined;
  readonly data: string;
}

/** Reads events from the bytes of a stream, however they are cut. Comments are skipped. */
export class SseReader {
  // The parser removes a byte order mark. Invalid UTF-8 becomes replacement characters, as in a browser.
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #parser: EventSourceParser;
  #events: SseEvent[] = [];
  readonly #lengthMax: number;
  #isTooLong = false;

  /** @param lengthMax of an event and of a line, in UTF-16 units. Default: events as long as the stream */
  constructor(lengthMax = Number.POSITIVE_INFINITY) {
    this.#lengthMax = lengthMax;
    this.#parser = createParser({
      maxBufferSize: lengthMax,
      onEvent: ({ event: name, data }) => {
        // The parser bounds only what it keeps for the next piece.
        this.#isTooLong ||= data.length > lengthMax;
        if (data !== '') this.#events.push({ name, data });
      },
      onError: ({ type }) => {
        this.#isTooLong ||= type === 'max-buffer-size-exceeded';
      },
    });
  }

  /** The events that end in these bytes. @throws `upstream_error` if one is too long */
  read(piece: Uint8Array): readonly SseEvent[] {
    return this.#feed(this.#decoder.decode(piece, { stream: true }));
  }

  /** The last event, if the stream ended without the blank line after it. */
  end(): readonly SseEvent[] {
    return this.#feed(`${this.#decoder.decode()}\n\n`);
  }

  #feed(text: string): readonly SseEvent[] {
    this.#events = [];
    this.#parser.feed(text);
    if (this.#isTooLong) throw malformedResponse(`an event is longer than ${this.#lengthMax} characters`);
    return this.#events;
  }
}
