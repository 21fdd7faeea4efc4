import { expect, it } from 'vitest';
import { CollectedBytes } from '../../../src/core/values/collected-bytes.ts';

it('joins pieces of any size in order', () => {
  for (const sizes of [[], [0], [5], [0, 5], [1, 1, 1, 1, 1], [3, 0, 70_000, 1], [70_000, 1, 1, 200_000]]) {
    const collected = new CollectedBytes();
    const pieces = sizes.map((size, index) => Buffer.alloc(size, index + 1));
    for (const piece of pieces) {
      const given = Buffer.from(piece);
      collected.add(given);
      given.fill(0);
    }
    expect(collected.length).toBe(sizes.reduce((sum, size) => sum + size, 0));
    expect(collected.bytes.equals(Buffer.concat(pieces))).toBe(true);
  }
});
