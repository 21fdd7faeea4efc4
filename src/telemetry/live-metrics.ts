import type { RecordEnd, RecordStart } from '../core/entities/usage.ts';
import type { Metrics } from './request-metrics.ts';

const delayBuckets = [0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30];

/** Sessions of live speech and their turns, which last as long as people speak: no other request is compared with them. */
export function observeLive(metrics: Metrics) {
  let sessions = 0;
  metrics.gauge('parley_live_sessions', 'Sessions of live speech that have not ended.', [], (gauge) =>
    gauge.set(sessions),
  );
  const turns = metrics.counter('parley_live_turns_total', 'Ended turns of live speech.', ['model', 'state']);
  const seconds = metrics.counter('parley_live_speech_seconds_total', 'Seconds of speech in ended turns.', [
    'model',
  ]);
  const delays = metrics
    .histogram(
      'parley_live_final_seconds',
      'Time from the end of a turn of live speech to its text.',
      delayBuckets,
    )
    .cell({});
  return {
    began: ({ live }: RecordStart): void => {
      if (live === 'session') sessions++;
    },
    recognised: (delayMs: number): void => delays.observe(delayMs / 1000),
    ended: (model: string, { live }: RecordStart, { state, audioMsIn = 0 }: RecordEnd): void => {
      if (live === 'session') {
        sessions--;
        return;
      }
      turns.cell({ model, state }).value++;
      seconds.cell({ model }).value += audioMsIn / 1000;
    },
  };
}
