/** Inputs at which a parser once failed, and the seeds of the fuzzer. */
import { describe, expect, it } from 'vitest';
import { readCorpus } from './fuzz.ts';
import { targets } from './targets/index.ts';

describe.each(Object.entries(targets))('%s', (name, load) => {
  it('reads the inputs that are kept', async () => {
    const { seeds, open } = await load();
    const kept = readCorpus(name);
    const inputs = [...seeds.map((seed, index) => [`seed ${index}`, seed] as const), ...kept];
    const target = await open();
    const failures: string[] = [];
    for (const [file, input] of inputs) {
      try {
        await target.read(Buffer.from(input));
      } catch (error) {
        failures.push(`${file}: ${error}`);
      }
    }
    await target.close?.();
    expect(failures).toEqual([]);
  });
});
