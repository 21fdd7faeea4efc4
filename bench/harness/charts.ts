/** The charts of comparisons and of aims. */
import { type Aim, aims, type Verdict } from './aims.ts';
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
  return draw({
    title: question,
    subtitle: `${one}. ${legend}`,
    bars: shown.map(barOf),
  });
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

/** How near each measured aim is. */
export function chartOfAims(verdicts: readonly Verdict[]): string | undefined {
  const bars = verdicts.flatMap((verdict) => (verdict.measured ? [barOfAim(verdict, verdict.measured)] : []));
  if (bars.length === 0) return undefined;
  const subtitle = `The aim = 1. ${legend}`;
  return draw({ title: 'Where is Parley beside its aims?', subtitle, bars, scoreMax: 2 });
}

function barOfAim({ what, bound, limit, unit }: Aim, { median: middle, least, most }: Ratio): Bar {
  const part = (value: number) => value / limit;
  const sign = bound === 'at least' ? '≥' : '≤';
  const as = (value: number) => (unit ? `${threeDigits(value)} ${unit}` : `${threeDigits(value)} ×`);
  return {
    label: what,
    ...scored({ median: part(middle), least: part(least), most: part(most) }, bound === 'at least'),
    aim: 1,
    note: `${as(middle)}, aim ${sign} ${limit} ${unit ?? ''}`.trim(),
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
