/** Usage records in the form of a store. */
import type { RecordEnd, RecordStart } from '../../src/core/entities/usage.ts';
import { newRequestId } from '../../src/core/values/ids.ts';

type Holder = Pick<RecordStart, 'accountId' | 'keyId'>;

/** A chat that starts now, unless the caller sets other values. */
export function recordStart(holder: Holder, facts: Partial<RecordStart> = {}): RecordStart {
  const startedAtMs = facts.startedAtMs ?? Date.now();
  const chat = { operation: 'chat', model: 'm', wire: 'rest', characters: undefined } as const;
  return { id: newRequestId(startedAtMs), ...chat, ...holder, startedAtMs, ...facts };
}

const nothingUsed = {
  audioMsIn: undefined,
  audioMsOut: undefined,
  tokens: undefined,
  fairUseUnits: undefined,
};
const nothingPaid = { cost: undefined, overrun: undefined };

/** An end after two milliseconds that used and paid only the given amounts. */
export function recordEnd(state: RecordEnd['state'], facts: Partial<RecordEnd> = {}): RecordEnd {
  const times = { firstOutputMs: 1, durationMs: 2 };
  return { state, httpStatus: 200, code: undefined, ...times, ...nothingUsed, ...nothingPaid, ...facts };
}
