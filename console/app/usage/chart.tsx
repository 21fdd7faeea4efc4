/** A chart of usage with its legend. The table below it has the same numbers for those who cannot see it. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Group, type Measure, othersName, seriesOf } from './measures.ts';
import { type Period, stepsOf } from './periods.ts';

interface Props {
  readonly groups: readonly Group[];
  readonly measure: Measure;
  readonly period: Period;
}

/** Further groups are drawn as one. */
const seriesMax = 6;

export const seriesColor = (index: number): string => `var(--series-${Math.min(index, seriesMax) + 1})`;

export function Chart({ groups, measure, period }: Props) {
  const target = useRef<HTMLDivElement>(null);
  const [hovered, setHovered] = useState<number>();
  const [isMissing, setMissing] = useState(false);
  const theme = useTheme();
  const steps = stepsOf(period);
  const series = drawn(groups).map(({ name, totals }, index) => ({
    name,
    color: seriesColor(index),
    values: seriesOf(totals, steps, measure),
  }));
  const shape = JSON.stringify([
    measure.name,
    steps,
    series.map(({ name, values }) => [name, values.map(String)]),
  ]);
  useEffect(() => {
    const element = target.current;
    if (element === null) return;
    let remove: (() => void) | undefined;
    let isGone = false;
    import('./plot.ts').then(
      ({ plot }) => {
        if (isGone) return;
        remove = plot(element, {
          times: steps.map((step) => Date.parse(step) / 1000),
          series: series.map(({ values, ...one }) => ({ ...one, values: values.map(measure.plotted) })),
          axisText: (value) => value.toLocaleString(undefined, { notation: 'compact' }),
          timeText: (seconds) => stepText(new Date(seconds * 1000), period),
          isWhole: measure.isWhole,
          onHover: setHovered,
        });
      },
      () => setMissing(true),
    );
    return () => {
      isGone = true;
      remove?.();
    };
  }, [shape, theme]);
  const step = hovered === undefined ? undefined : steps[hovered];
  return (
    <figure class="chart">
      <div
        ref={target}
        class="plot"
        role="img"
        aria-label={`${measure.label} by ${period.unit}; see the table below`}
      />
      {isMissing && (
        <p class="problem">
          The chart could not be loaded. Reload the page: the server may have been updated.
        </p>
      )}
      <figcaption>
        <span class="when">{step === undefined ? period.label : stepText(new Date(step), period)} (UTC)</span>
        {series.map(({ name, color, values }) => (
          <span key={name} class="series">
            <i style={{ background: color }} /> {name}{' '}
            <strong>{measure.text(hovered === undefined ? sum(values) : (values[hovered] ?? 0n))}</strong>
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function drawn(groups: readonly Group[]): readonly Pick<Group, 'name' | 'totals'>[] {
  const apart = groups.filter(({ name }) => name !== othersName);
  if (groups.length <= seriesMax) return groups;
  const shown = apart.slice(0, seriesMax);
  const rest = groups.filter((group) => !shown.includes(group)).flatMap(({ totals }) => totals);
  return [...shown, { name: othersName, totals: rest }];
}

const sum = (values: readonly bigint[]) => values.reduce((total, value) => total + value, 0n);

const stepParts = {
  hour: { hour: '2-digit', minute: '2-digit' },
  day: { day: 'numeric', month: 'short' },
  month: { month: 'short', year: '2-digit' },
} as const;

function stepText(date: Date, { unit }: Period): string {
  return date.toLocaleString(undefined, { ...stepParts[unit], timeZone: 'UTC' });
}

/** Changes with the theme, as a canvas does not follow its colors. */
function useTheme(): string {
  const media = matchMedia('(prefers-color-scheme: dark)');
  const read = () => `${document.documentElement.style.colorScheme} ${media.matches}`;
  const [theme, setTheme] = useState(read);
  useEffect(() => {
    const update = () => setTheme(read());
    const observer = new MutationObserver(update);
    observer.observe(document.documentElement, { attributeFilter: ['style'] });
    media.addEventListener('change', update);
    return () => {
      observer.disconnect();
      media.removeEventListener('change', update);
    };
  }, []);
  return theme;
}
