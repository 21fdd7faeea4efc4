import type { TranscriptionEngine } from '../../core/entities/engine.ts';
import type { LiveSpeaker, LiveTurn, LiveTurnOptions } from '../../core/entities/live.ts';
import type { ObservedRequest } from './observed-requests.ts';
import { ObservedStream } from './observed-stream.ts';

/** Turns of live speech are requests, too. Their times begin with the end of the speech. */
export function observedTranscription(
  engine: TranscriptionEngine,
  begin: () => ObservedRequest,
): TranscriptionEngine {
  const openSpeaker = engine.openSpeaker?.bind(engine);
  return {
    ...(engine.tellsTimes !== undefined && { tellsTimes: engine.tellsTimes }),
    tellsSpeakers: engine.tellsSpeakers,
    availability: () => engine.availability(),
    transcribe: (request) =>
      new ObservedStream(engine.transcribe(request), begin, {
        // An engine may report the length of the audio before it begins to recognise.
        isOutput: ({ kind }) => kind !== 'audio',
        isLast: ({ kind }) => kind === 'done',
      }),
    ...(openSpeaker && { openSpeaker: () => observedSpeaker(openSpeaker(), begin) }),
  };
}

function observedSpeaker(speaker: LiveSpeaker, begin: () => ObservedRequest): LiveSpeaker {
  return { listen: (options) => observedTurn(speaker, options, begin()), close: () => speaker.close() };
}

function observedTurn(speaker: LiveSpeaker, options: LiveTurnOptions, request: ObservedRequest): LiveTurn {
  const onFailure = (error: unknown) => {
    request.fail(error);
    options.onFailure(error);
  };
  const live = listen(speaker, { ...options, onFailure }, request);
  return {
    add: (samples) => live.add(samples),
    finish: async () => {
      request.isWhole();
      try {
        const text = await live.finish();
        request.succeed();
        return text;
      } catch (error) {
        request.fail(error);
        throw error;
      }
    },
    drop: () => {
      request.cancel();
      live.drop();
    },
  };
}

function listen(speaker: LiveSpeaker, options: LiveTurnOptions, request: ObservedRequest): LiveTurn {
  try {
    return speaker.listen(options);
  } catch (error) {
    request.fail(error);
    throw error;
  }
}
