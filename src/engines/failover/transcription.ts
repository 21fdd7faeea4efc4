import type { TranscriptionEngine } from '../../core/ports/engines.ts';
import { firstStream } from './attempts.ts';
import { availabilityOf } from './availability.ts';
import { type Balance, type Listed, Turns } from './turns.ts';

/** One engine of several that serve the same transcription model. It tells times where all of them do. */
export function failoverTranscription(
  engines: Listed<TranscriptionEngine>,
  balance: Balance,
): TranscriptionEngine {
  if (engines.length === 1) return engines[0];
  const turns = new Turns(engines, balance);
  return {
    availability: () => availabilityOf(engines),
    tellsTimes: engines.every(({ tellsTimes }) => tellsTimes !== false),
    transcribe: (request) =>
      firstStream(
        turns.take(),
        request.signal,
        (engine) => engine.transcribe(request),
        // How long the audio is may be told before anybody was asked to recognise it.
        ({ kind }) => kind !== 'audio',
      ),
  };
}
