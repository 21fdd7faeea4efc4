import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SteadyClock, steadyClock } from '../../../src/core/access/steady-clock.ts';
import { newAccountId } from '../../../src/core/values/ids.ts';
import { openStore } from '../../../src/store/sqlite/open-store.ts';
import { TestClock } from '../../support/parley.ts';
import { auditEntry } from '../../support/stored-key.ts';

const hourMs = 3_600_000;

it('advances with the clock, and stands still while the clock is set back', () => {
  const clock = new TestClock();
  const steady = new SteadyClock(clock);
  const startMs = steady.now();
  clock.nowMs += hourMs;
  expect(steady.now()).toBe(startMs + hourMs);
  clock.nowMs -= 2 * hourMs;
  expect(steady.now()).toBe(startMs + hourMs);
  clock.nowMs += 3 * hourMs;
  expect(steady.now()).toBe(startMs + 2 * hourMs);
});

it('accepts a clock that is set back by over a day as corrected', () => {
  const clock = new TestClock();
  const steady = new SteadyClock(clock);
  const startMs = steady.now();
  clock.nowMs = startMs + 1_000 * hourMs;
  steady.now();
  clock.nowMs = startMs;
  expect(steady.now()).toBe(startMs);
});

it('knows the time of the newest entry after a restart', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-clock-'));
  const store = await openStore(dataDir);
  const clock = new TestClock();
  try {
    expect((await steadyClock(clock, store)).now()).toBe(clock.nowMs);
    const createdAtMs = clock.nowMs + hourMs;
    await store.accounts.create(
      { id: newAccountId(1), name: 'a', createdAtMs: 1 },
      { ...auditEntry(), createdAtMs },
    );
    expect((await steadyClock(clock, store)).now()).toBe(createdAtMs);
  } finally {
    await store.close();
    rmSync(dataDir, { recursive: true });
  }
});
