import { expect, it } from 'vitest';
import { terminalLine } from '../../src/app/log.ts';

const record = { time: new Date(2026, 0, 2, 14, 3, 5).toISOString() };

it.each([
  ['a message', { level: 30, msg: 'stopping' }, '14:03:05 stopping\n'],
  [
    'facts that the message has',
    { level: 30, baseUrl: 'http://127.0.0.1:8080', msg: 'listening on http://127.0.0.1:8080' },
    '14:03:05 listening on http://127.0.0.1:8080\n',
  ],
  [
    'a warning with facts',
    { level: 40, model: 'hears', count: 2, msg: 'model is not available' },
    '14:03:05 warning: model is not available (model hears, count 2)\n',
  ],
  [
    'an error',
    { level: 50, err: { type: 'Error', message: 'no space', stack: 'Error\n at' }, msg: 'not written' },
    '14:03:05 error: not written (err no space)\n',
  ],
  ['control characters', { level: 30, msg: 'a\u001b[2Jb\nc' }, '14:03:05 a [2Jb c\n'],
])('shows %s at a terminal', (_, facts, line) => {
  expect(terminalLine({ ...record, ...facts })).toBe(line);
});
