/** The charts of comparisons. */
import { aims } from './aims.ts';
import { type Bar, draw } from './chart.ts';
import { type Chart, type Comparison, isMoreBetter } from './result.ts';
import { median, type Ratio, ratioOf, threeDigits } from './statistics.ts';

const legend = 'Right is better. The aim is green; a bar that misses it is orange.';

/** @returns an SVG document, or undefined if no comparison names the chart */
export function chartOf({ name, question }: Chart, comparisons: readonly Comparison[]): string | undefined {
  const shown = comparisons.filter(({ chart }) => chart?.name === name);
  if (shown.length === 0) return undefined;
  const yardsticks = [...new Set(shown.map(({ yardstick }) => yardstick))];
  const one = yardsticks.length === 1 ? `${yardsticks[0]} = 1` : 'the yardstick = 1';
  return draw({ title: question, subtitle: `${one}. ${legend}`, bars: shown.map(barOf) });
}

function barOf(comparison: Comparison): Bar {
  const { chart, who, unit, ours, theirs } = comparison;
  const ratio = ratioOf(comparison);
  const aim = comparison.aim && aims[comparison.aim];
  const figures = `${threeDigits(median(ours))} against ${threeDigits(median(theirs))} ${unit}`;
  return {
    label: chart?.label ?? '',
    ...scored(ratio, isMoreBetter(unit)),
    ...(aim && { aim: scoreOf(aim.limit, aim.bound === 'at least') }),
    note: `${threeDigits(ratio.median)} × (${figures})`,
    isPeer: who !== undefined,
  };
}

const scoreOf = (ratio: number, moreIsBetter: boolean) => (moreIsBetter ? ratio : 1 / ratio);

function scored({ median: middle, least, most }: Ratio, moreIsBetter: boolean) {
  const [worst, best] = moreIsBetter ? [least, most] : [most, least];
  return {
    score: scoreOf(middle, moreIsBetter),
    least: scoreOf(worst, moreIsBetter),
    most: scoreOf(best, moreIsBetter),
  };
}
