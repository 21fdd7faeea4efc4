import type { TranscriptionEngine } from '../../core/entities/engine.ts';
import { runSpeaker } from './live.ts';
import type { ModelEngines } from './model-engines.ts';
import { RunStream } from './run.ts';

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
      return new RunStream(engines.orderFor(signal.owner), signal, (engine) => engine.transcribe(request), {
        // An engine may report the length of the audio before it begins to recognise.
        isOutput: ({ kind }) => kind !== 'audio',
        isLast: ({ kind }) => kind === 'done',
      });
    },
    ...(isLive && { openSpeaker: () => runSpeaker(engines.orderFor(undefined)) }),
  };
}
