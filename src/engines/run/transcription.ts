import type { TranscriptionEngine } from '../../core/entities/engine.ts';
import type { LiveSpeaker, LiveText, LiveTurn, LiveTurnOptions, Samples } from '../../core/entities/live.ts';
import { ParleyError, toParleyError } from '../../core/values/errors.ts';
import { KeptSpeech } from '../kept-speech.ts';
import { uploadSpeaker } from '../upload-speaker.ts';
import type { Attempt } from './engine-counts.ts';
import type { Candidate, ModelEngines } from './model-engines.ts';
import { runStream } from './run.ts';

/** False if one engine identifies no speakers, true if all do. */
function sharedAnswer(answers: readonly (boolean | undefined)[]): boolean | undefined {
  if (answers.includes(false)) return false;
  return answers.includes(undefined) ? undefined : true;
}

/** The engines of a transcription model. Transcripts have times if those of all engines have. */
export function runTranscription(engines: ModelEngines<TranscriptionEngine>): TranscriptionEngine {
  const { all } = engines;
  const isLive = all.some(({ openSpeaker }) => openSpeaker !== undefined);
  return {
    availability: () => engines.availability(),
    reportsTimes: all.every(({ reportsTimes }) => reportsTimes !== false),
    reportsSpeakers: sharedAnswer(all.map(({ reportsSpeakers }) => reportsSpeakers)),
    transcribe: (request) => {
      const { signal } = request;
      return runStream(engines.orderFor(signal.owner), signal, (engine) => engine.transcribe(request), {
        // An engine may report the length of the audio before it begins to recognise.
        isOutput: ({ kind }) => kind !== 'audio',
        isLast: ({ kind }) => kind === 'done',
      });
    },
    ...(isLive && { openSpeaker: () => runSpeaker(engines.orderFor(undefined)) }),
  };
}

type Hearer = Candidate<TranscriptionEngine>;

/**
 * A turn that an engine cannot have begun is spoken again to the next one. The times of a turn begin with the end of its
 * speech.
 * @param candidates in the order in which a turn tries them. The first may connect before the first turn.
 */
function runSpeaker(candidates: readonly Hearer[]): LiveSpeaker {
  const speakers = new Map<Hearer, LiveSpeaker>();
  const speakerOf = (candidate: Hearer) => {
    const { engine } = candidate;
    const speaker = speakers.get(candidate) ?? engine.openSpeaker?.() ?? uploadSpeaker(engine);
    speakers.set(candidate, speaker);
    return speaker;
  };
  const [first] = candidates;
  if (first) speakerOf(first);
  return {
    listen(options) {
      const available = candidates.filter(({ engine }) => engine.availability().available);
      return new RunTurn(available.length > 0 ? available : candidates.slice(0, 1), speakerOf, options);
    },
    close: () => {
      for (const speaker of speakers.values()) speaker.close();
    },
  };
}

class RunTurn implements LiveTurn {
  readonly #candidates: Hearer[];
  readonly #speakerOf: (candidate: Hearer) => LiveSpeaker;
  readonly #options: LiveTurnOptions;
  readonly #kept: KeptSpeech;
  readonly #text = Promise.withResolvers<LiveText>();
  /** All samples, for the next engine; undefined once there can be no next one. */
  #samples: Samples[] | undefined;
  #live: LiveTurn | undefined;
  /** The one that runs; undefined once it has failed or is dropped. */
  #attempt: Attempt | undefined;
  #isLast = false;

  constructor(
    candidates: readonly Hearer[],
    speakerOf: (candidate: Hearer) => LiveSpeaker,
    options: LiveTurnOptions,
  ) {
    this.#candidates = [...candidates];
    this.#speakerOf = speakerOf;
    this.#options = options;
    this.#kept = new KeptSpeech(options.signal.owner);
    this.#text.promise.catch(() => undefined);
    this.#samples = candidates.length > 1 ? [] : undefined;
    const [first] = this.#candidates.splice(0, 1);
    if (first) this.#try(first);
  }

  add(samples: Samples): void {
    if (this.#samples && this.#kept.add(samples.byteLength)) this.#samples.push(samples.slice());
    else this.#forget();
    this.#live?.add(samples);
  }

  finish(): Promise<LiveText> {
    this.#isLast = true;
    if (this.#attempt && this.#live) this.#follow(this.#attempt, this.#live);
    return this.#text.promise;
  }

  drop(): void {
    this.#attempt?.cancel();
    this.#attempt = undefined;
    this.#live?.drop();
    this.#live = undefined;
    this.#text.reject(new ParleyError('request_cancelled'));
    this.#forget();
  }

  /** @param failure thrown if there is no other engine */
  #tryNext(failure: ParleyError): void {
    const candidate = this.#samples && this.#candidates.shift();
    if (candidate) this.#try(candidate);
    else this.#fail(failure);
  }

  #try(candidate: Hearer): void {
    const attempt = candidate.counts.begin(candidate.model, this.#options.attempts);
    this.#attempt = attempt;
    try {
      const live = this.#listen(candidate, attempt);
      if (this.#attempt !== attempt) return;
      this.#live = live;
      for (const samples of this.#samples ?? []) live.add(samples.slice());
      if (this.#isLast) this.#follow(attempt, live);
    } catch (error) {
      this.#failed(attempt, error);
    }
  }

  #listen(candidate: Hearer, attempt: Attempt): LiveTurn {
    return this.#speakerOf(candidate).listen({
      ...this.#options,
      onPartial: (text) => {
        this.#forget();
        this.#options.onPartial(text);
      },
      onFailure: (error) => this.#failed(attempt, error),
    });
  }

  #follow(attempt: Attempt, live: LiveTurn): void {
    attempt.noteWholeSpeech();
    live.finish().then(
      (text) => {
        attempt.succeed();
        this.#forget();
        this.#text.resolve(text);
      },
      (error) => this.#failed(attempt, error),
    );
  }

  /** A failure is reported by the turn and by its text: the first one counts. */
  #failed(attempt: Attempt, thrown: unknown): void {
    if (attempt !== this.#attempt) return;
    this.#attempt = undefined;
    this.#live = undefined;
    attempt.fail(thrown);
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
