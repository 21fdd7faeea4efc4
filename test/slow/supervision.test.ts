/** 100 rounds of each kill, idle end and shortage of memory that `npm test` plays a few times. */
import { expect, it } from 'vitest';
import { runTestsWith } from './binary/program-tests.ts';

const variables = { PARLEY_SUPERVISION_ROUNDS: '100' };

it.each([
  'supervisor/program',
  'supervisor/supervisor',
  'supervisor/killed-parley',
  'engines/process/process',
])('plays 100 rounds of %s', { timeout: 3_600_000 }, async (name) => {
  expect(await runTestsWith(undefined, [name], variables)).toEqual({ code: 0, failures: [] });
});
