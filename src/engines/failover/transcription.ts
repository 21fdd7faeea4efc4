import type { TranscriptionEngine } from '../../core/entities/engine.ts';
import { firstStream } from './attempts.ts';
import { type EngineChoice, type EngineList, EngineOrder } from './engine-order.ts';
import { failoverSpeaker } from './live.ts';

/** False if one engine identifies no speakers, true if all do. */
function sharedAnswer(answers: readonly (boolean | undefined)[]): boolean | undefined {
  if (answers.includes(false)) return false;
  return answers.includes(undefined) ? undefined : true;
}

/** Several engines of one transcription model. Transcripts have times if those of all engines have. */
export function failoverTranscription(
  engines: EngineList<TranscriptionEngine>,
  choice: EngineChoice,
): TranscriptionEngine {
  if (engines.length === 1) return engines[0];
  const order = new EngineOrder(engines, choice);
  const isLive = engines.some(({ openSpeaker }) => openSpeaker !== undefined);
  return {
    availability: () => order.availability(),
    tellsTimes: engines.every(({ tellsTimes }) => tellsTimes !== false),
    tellsSpeakers: sharedAnswer(engines.map(({ tellsSpeakers }) => tellsSpeakers)),
    transcribe: (request) =>
      firstStream(
        order.take(),
        request.signal,
        (engine) => engine.transcribe(request),
        // An engine may report the length of the audio before it begins to recognise.
        ({ kind }) => kind !== 'audio',
      ),
    ...(isLive && { openSpeaker: () => failoverSpeaker(order.take()) }),
  };
}
