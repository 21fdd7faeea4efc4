import { expect, it } from 'vitest';
import { attemptText, limitText } from '../../../src/core/billing/record-words.ts';

const spanText = (ms: number) => `${ms} ms`;
const attempt = { engine: 'azure', code: 'upstream_error' };

it.each([
  [{ engine: 'azure', durationMs: 5 }, 'azure: answered, after 5 ms'],
  [attempt, 'azure: upstream_error'],
  [{ ...attempt, model: 'gpt' }, 'azure for gpt: upstream_error'],
  [
    { ...attempt, upstreamCode: 'overloaded' },
    'azure: upstream_error, its upstream reported an error (overloaded)',
  ],
  [{ ...attempt, upstreamStatus: 500 }, 'azure: upstream_error, its upstream answered 500'],
  [
    { ...attempt, upstreamStatus: 429, upstreamCode: 'quota', durationMs: 21 },
    'azure: upstream_error, its upstream answered 429 (quota), after 21 ms',
  ],
])('an attempt %o is told in a line', (given, line) => expect(attemptText(given, spanText)).toBe(line));

it.each([
  [{ unit: 'requests', amount: 1n, limit: 60n, taken: 60n }, 'requests of the key: 60 of 60 taken, 1 needed'],
  [
    { unit: 'audio_seconds', period: '2026-11-21', amount: 9n, limit: 8n, taken: 2n },
    'audio seconds of the key (2026-11-21): 2 of 8 taken, 9 needed',
  ],
  [
    { unit: 'balance', amount: 9n, limit: 8n, taken: 0n },
    'balance of the key: 0 nc of 8 nc taken, 9 nc needed',
  ],
])('a limit %o is told in a line', (given, line) =>
  expect(limitText({ owner: 'key', ...given }, (nano) => `${nano} nc`)).toBe(line),
);
