/** The answers that an attack must get. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answered } from './target.ts';

const inTimeMs = 60_000;

export function expectStatus({ status, body }: Answered, ...expected: readonly number[]): void {
  const shown = body.toString('latin1', 0, 200);
  assert.ok(expected.includes(status), `answered ${status}, not ${expected.join(' or ')}: ${shown}`);
}

/** Waits until the condition is true. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = Date.now() + inTimeMs;
  while (!holds()) {
    assert.ok(Date.now() < deadline, `waited in vain until ${what}`);
    await sleep(5);
  }
}
