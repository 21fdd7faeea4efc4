import { describe, expect, it } from 'vitest';
import { didYouMean } from '../../../src/core/values/suggestion.ts';
import { threadCpuMs } from '../../support/thread-cpu.ts';

describe('a suggestion', () => {
  it('takes no longer for a name as long as a request', () => {
    const candidates = Array.from({ length: 60 }, (_, at) => `requestsPerMinute${at}`);
    const suggest = () => expect(didYouMean('aB'.repeat(30_000), candidates)).toBeUndefined();
    // Comparing the whole name takes more than a second.
    expect(threadCpuMs(suggest)).toBeLessThan(100);
  });
});
