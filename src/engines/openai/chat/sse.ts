import { createParser, type EventSourceParser } from 'eventsource-parser';
import { malformedResponse } from '../errors.ts';

/** The longest event, and the longest line, in UTF-16 units: as long as the largest answer that is read whole. */
const eventLengthMax = 33_554_432;

/** The data that ends a stream of chunks. */
export const doneData = '[DONE]';
/** A byte order mark, a comment or a field, in Latin-1. */
export const eventBeginning = /^(\xef\xbb\xbf)?(:|data|event|id|retry)/;

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
  #isTooLong = false;

  constructor() {
    this.#parser = createParser({
      maxBufferSize: eventLengthMax,
      onEvent: ({ event: name, data }) => {
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
    if (this.#isTooLong) throw malformedResponse(`an event is longer than ${eventLengthMax} characters`);
    return this.#events;
  }
}
