/**
 * Lets contenders take turns, so that a slow moment of the machine hits all of them; every other round goes the other way
 * round, so that none always comes after the same one.
 *
 * @returns the samples of each contender, a sample a round
 */
export async function takeTurns<Name extends string, Sample>(
  contenders: Readonly<Record<Name, () => Promise<Sample>>>,
  { rounds, warmUps = 0 }: { readonly rounds: number; readonly warmUps?: number },
): Promise<Record<Name, Sample[]>> {
  const names = Object.keys(contenders) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Sample[]>;
  for (let round = -warmUps; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const sample = await contenders[name]();
      if (round >= 0) samples[name].push(sample);
    }
  }
  return samples;
}
