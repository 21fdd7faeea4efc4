/** Ends the record of a turn, and returns the last report about it. */
import { type ParleyError, toParleyError } from '../values/errors.ts';
import type { SessionReport } from './reports.ts';
import type { Turn } from './turn.ts';

export async function complete(turn: Turn): Promise<SessionReport> {
  try {
    return { kind: 'completed', turn: turn.number, ...(await turn.complete()) };
  } catch (error) {
    return { kind: 'failed', turn: turn.number, id: turn.id, error: toParleyError(error) };
  }
}

/** @returns undefined if the client knows */
export async function fail(
  turn: Turn,
  error: ParleyError,
  isReported: boolean,
): Promise<SessionReport | undefined> {
  await turn.fail(error);
  return isReported ? { kind: 'failed', turn: turn.number, id: turn.id, error } : undefined;
}
