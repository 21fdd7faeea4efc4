import type { Call } from '../../core/call.ts';

/** Says that an answer is that of an earlier request under the same Idempotency-Key. */
export function replayHeaders({ isReplay }: Call): Record<string, string> {
  return isReplay ? { 'idempotent-replayed': 'true' } : {};
}
