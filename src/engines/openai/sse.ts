import { createParser, type EventSourceParser } from 'eventsource-parser';
import { malformedResponse } from './failures.ts';

/** The longest event, and the longest line, in UTF-16 units. */
const eventLengthMax = 262_144;

export interface SseEvent {
  /** Undefined where the event has no name of its own. */
  readonly name: string | undefined;
  readonly data: string;
}

/** Takes the bytes of an event stream as they come, however they are cut, and gives its events. Comments are passed over. */
export class SseReader {
  // A byte order mark is the parser's to take off; what is no UTF-8 becomes replacement characters, as in a browser.
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

  /** The events that end in these bytes. @throws `upstream_error` where one is too long */
  read(piece: Uint8Array): readonly SseEvent[] {
    return this.#feed(this.#decoder.decode(piece, { stream: true }));
  }

  /** The last event, where the stream ended without the blank line after it. */
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
