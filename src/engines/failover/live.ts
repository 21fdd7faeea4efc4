/** Live speech for several engines: a turn that one of them cannot have begun is spoken again to the next. */
import type { TranscriptionEngine } from '../../core/entities/engine.ts';
import type { LiveSpeaker, LiveText, LiveTurn, LiveTurnOptions, Samples } from '../../core/entities/live.ts';
import { ParleyError, toParleyError } from '../../core/values/errors.ts';
import { KeptSpeech } from '../kept-speech.ts';
import { uploadSpeaker } from '../upload-speaker.ts';

/** @param engines in the order in which a turn tries them. The first may connect before the first turn. */
export function failoverSpeaker(engines: readonly TranscriptionEngine[]): LiveSpeaker {
  const speakers = new Map<TranscriptionEngine, LiveSpeaker>();
  const speakerOf = (engine: TranscriptionEngine) => {
    const speaker = speakers.get(engine) ?? engine.openSpeaker?.() ?? uploadSpeaker(engine);
    speakers.set(engine, speaker);
    return speaker;
  };
  const [first] = engines;
  if (first) speakerOf(first);
  return {
    listen(options) {
      const available = engines.filter((engine) => engine.availability().available);
      return new FailoverTurn(available.length > 0 ? available : engines.slice(0, 1), speakerOf, options);
    },
    close: () => {
      for (const speaker of speakers.values()) speaker.close();
    },
  };
}

class FailoverTurn implements LiveTurn {
  readonly #engines: TranscriptionEngine[];
  readonly #speakerOf: (engine: TranscriptionEngine) => LiveSpeaker;
  readonly #options: LiveTurnOptions;
  readonly #kept: KeptSpeech;
  readonly #text = Promise.withResolvers<LiveText>();
  /** All samples, for the next engine; undefined once there can be no next one. */
  #samples: Samples[] | undefined = [];
  #live: LiveTurn | undefined;
  #isLast = false;

  constructor(
    engines: readonly TranscriptionEngine[],
    speakerOf: (engine: TranscriptionEngine) => LiveSpeaker,
    options: LiveTurnOptions,
  ) {
    this.#engines = [...engines];
    this.#speakerOf = speakerOf;
    this.#options = options;
    this.#kept = new KeptSpeech(options.signal.owner);
    this.#text.promise.catch(() => undefined);
    this.#tryNext(new ParleyError('engine_unavailable'));
  }

  add(samples: Samples): void {
    if (this.#samples && this.#kept.add(samples.byteLength)) this.#samples.push(samples.slice());
    else this.#forget();
    this.#live?.add(samples);
  }

  finish(): Promise<LiveText> {
    this.#isLast = true;
    if (this.#live) this.#follow(this.#live);
    return this.#text.promise;
  }

  drop(): void {
    this.#live?.drop();
    this.#live = undefined;
    this.#text.reject(new ParleyError('request_cancelled'));
    this.#forget();
  }

  /** @param failure thrown if there is no other engine */
  #tryNext(failure: ParleyError): void {
    const engine = this.#samples && this.#engines.shift();
    if (engine === undefined) {
      this.#fail(failure);
      return;
    }
    try {
      const live = this.#listen(engine);
      this.#live = live;
      for (const samples of this.#samples ?? []) live.add(samples.slice());
      if (this.#isLast) this.#follow(live);
    } catch (error) {
      this.#failed(this.#live, error);
    }
  }

  #listen(engine: TranscriptionEngine): LiveTurn {
    const live = this.#speakerOf(engine).listen({
      ...this.#options,
      onPartial: (text) => {
        this.#forget();
        this.#options.onPartial(text);
      },
      onFailure: (error) => this.#failed(live, error),
    });
    return live;
  }

  #follow(live: LiveTurn): void {
    live.finish().then(
      (text) => {
        this.#forget();
        this.#text.resolve(text);
      },
      (error) => this.#failed(live, error),
    );
  }

  /** A failure is reported by the turn and by its text: the first one counts. */
  #failed(live: LiveTurn | undefined, thrown: unknown): void {
    if (live !== this.#live) return;
    this.#live = undefined;
    const error = toParleyError(thrown);
    if (error.hasNotRun && !this.#options.signal.aborted) this.#tryNext(error);
    else this.#fail(error);
  }

  #fail(error: ParleyError): void {
    this.#forget();
    this.#text.reject(error);
    this.#options.onFailure(error);
  }

  #forget(): void {
    this.#samples = undefined;
    this.#kept.remove();
  }
}
