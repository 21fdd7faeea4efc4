/** The program is killed while somebody speaks, and restarted on its data folder. */
import { expect } from 'vitest';
import { fileFaults, readBooks } from '../support/books.ts';
import { playLiveMoments } from './live-moments.ts';
import type { Scenario } from './scenario.ts';

export const sqliteLive: Scenario = {
  play: (round) =>
    playLiveMoments(round, {
      settings: {},
      readBooks: async (dataDir) => {
        expect(fileFaults(dataDir)).toEqual([]);
        return readBooks(dataDir);
      },
    }),
};
