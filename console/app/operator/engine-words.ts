/** The health of an engine in words, such as `cannot be reached`. */
import type { EngineState } from '../../../gen/parley/admin/v1/admin_pb.ts';

export interface Health {
  readonly words: string;
  /** `failed` needs a person. */
  readonly badge: 'ok' | 'refused' | 'failed' | '';
}

const programs: Readonly<Record<string, Health>> = {
  ready: { words: 'works', badge: 'ok' },
  busy: { words: 'works', badge: 'ok' },
  waiting: { words: 'waits for memory', badge: 'refused' },
  loading: { words: 'is loading', badge: 'refused' },
  stopping: { words: 'is stopping', badge: '' },
  stopped: { words: 'starts when it is needed', badge: '' },
  failed: { words: 'could not be started', badge: 'failed' },
};

export function healthOf({ up, breaker, disabled, program, requests }: EngineState): Health {
  const { ended = 0, failed = 0 } = requests ?? {};
  if (disabled) return { words: 'is disabled', badge: '' };
  if (program?.state === 'failed') return { words: 'could not be started', badge: 'failed' };
  if (program === undefined && !up) return { words: 'cannot be reached', badge: 'failed' };
  if (breaker === 'open') return { words: 'failed so often that calls fail at once', badge: 'failed' };
  if (breaker === 'half_open') return { words: 'is tried again', badge: 'refused' };
  if (failed > 0 && failed >= ended / 2)
    return { words: `fails: ${failed} of its ${ended} requests in the last 5 minutes`, badge: 'failed' };
  return (program && programs[program.state]) ?? { words: 'works', badge: 'ok' };
}
