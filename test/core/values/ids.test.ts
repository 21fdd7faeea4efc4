import { describe, expect, it } from 'vitest';
import { firstRequestId, newRequestId } from '../../../src/core/values/ids.ts';

describe('an id', () => {
  it.each([0, 1, 2 ** 24 - 1, 2 ** 24, 1_700_000_000_000, 2 ** 48 - 1])('begins with its time: %d', (ms) => {
    const digits = ms.toString(16).padStart(12, '0');
    expect(firstRequestId(ms)).toBe(`req_${digits}`);
    expect(newRequestId(ms)).toMatch(new RegExp(`^req_${digits}[0-9a-f]{20}$`));
  });
});
