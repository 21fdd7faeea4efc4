/**
 * Lets contenders take turns, so that a slow moment of the machine hits all of them; every other round goes the other way
 * round, so that none always comes after the same one.
 *
 * @returns the samples of each contender, a sample a round
 */
export async function takeTurns<Samples extends object>(
  contenders: { readonly [Name in keyof Samples]: () => Promise<Samples[Name]> },
  { rounds, warmUps = 0 }: { readonly rounds: number; readonly warmUps?: number },
): Promise<{ [Name in keyof Samples]: Samples[Name][] }> {
  const samples = {} as { [Name in keyof Samples]: Samples[Name][] };
  const names = Object.keys(contenders) as (keyof Samples)[];
  for (const name of names) samples[name] = [];
  for (let round = -warmUps; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const sample = await contenders[name]();
      if (round >= 0) samples[name].push(sample);
    }
  }
  return samples;
}
