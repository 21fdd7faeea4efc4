/** The audit trail in the database. */
import { expect, it } from 'vitest';
import type { AuditEntry } from '../../src/core/entities/audit.ts';
import { newAuditId } from '../../src/core/values/ids.ts';
import { startParley } from '../support/parley.ts';

it('is searched 5,000 entries at a time, to its end', async () => {
  const parley = await startParley();
  const { audit } = parley.app.store;
  const entry = (createdAtMs: number, target: string): AuditEntry => {
    const details = {};
    return {
      id: newAuditId(createdAtMs),
      createdAtMs,
      actor: 'cli',
      action: 'account.rename',
      target,
      details,
    };
  };
  await audit.add(entry(1, 'the oldest'));
  for (let group = 0; group < 510; group++) {
    const others = Array.from({ length: 10 }, (_, at) => entry(1_000 + 10 * group + at, 'other'));
    await Promise.all(others.map((one) => audit.add(one)));
  }
  const first = await audit.list({ size: 10, after: undefined }, { search: 'OLDEST', beforeMs: 10_000 });
  expect(first.items).toEqual([]);
  const { nextAfter } = first;
  expect(nextAfter).toBeDefined();
  const second = await audit.list({ size: 10, after: nextAfter }, { search: 'OLDEST', beforeMs: 10_000 });
  expect(second.items.map(({ target }) => target)).toEqual(['the oldest']);
  expect(second.nextAfter).toBeUndefined();
  await parley.close();
});
