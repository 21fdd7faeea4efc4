/** A chart of usage with its legend. A table has the same numbers for those who cannot see it. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { shownZone } from '../zone.tsx';
import { type Group, type Measure, othersName, seriesOf, sumOf } from './measures.ts';
import { type Period, stepsOf } from './periods.ts';

export interface Series {
  readonly name: string;
  /** One for each step of the period. Undefined: there is none. */
  readonly values: readonly (bigint | undefined)[];
  /** The value of the whole period. */
  readonly whole: bigint;
}

interface Props {
  readonly series: readonly Series[];
  readonly measure: Pick<Measure, 'label' | 'text' | 'isWhole' | 'plotted'>;
  readonly period: Period;
  /** Whether the values are no parts of a sum, as medians are. */
  readonly isLines?: boolean;
  /** The place of the table with the same numbers. */
  readonly table: string;
}

/** Series apart. */
export const seriesMax = 6;

export const seriesColor = (index: number): string => `var(--series-${Math.min(index, seriesMax) + 1})`;

export function Chart({ series, measure, period, isLines = false, table }: Props) {
  const target = useRef<HTMLDivElement>(null);
  const [hovered, setHovered] = useState<number>();
  const [isMissing, setMissing] = useState(false);
  const theme = useTheme();
  const steps = stepsOf(period);
  const shape = JSON.stringify([
    measure.label,
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
          series: series.map(({ name, values }, index) => ({
            name,
            color: seriesColor(index),
            values: values.map((value) => (value === undefined ? null : measure.plotted(value))),
          })),
          isLines,
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
        aria-label={`${measure.label} by ${period.unit}; see the table ${table}`}
      />
      {isMissing && (
        <p class="problem">
          The chart could not be loaded. Reload the page: the server may have been updated.
        </p>
      )}
      <figcaption>
        <span class="when">
          {step === undefined
            ? `${period.label} (UTC)`
            : `${stepText(new Date(step), period)} (${stepZone(period)})`}
        </span>
        {series.map(({ name, values, whole }, index) => {
          const value = hovered === undefined ? whole : values[hovered];
          return (
            <span key={name} class="series">
              <i style={{ background: seriesColor(index) }} /> {name}{' '}
              <strong>{value === undefined ? '–' : measure.text(value)}</strong>
            </span>
          );
        })}
      </figcaption>
    </figure>
  );
}

/** The series of the largest groups. Further groups are drawn as one. */
export function seriesOfGroups(groups: readonly Group[], measure: Measure, period: Period): Series[] {
  const steps = stepsOf(period);
  const apart = groups.filter(({ name }) => name !== othersName).slice(0, seriesMax);
  const rest = groups.filter((group) => !apart.includes(group)).flatMap(({ totals }) => totals);
  const drawn = groups.length <= seriesMax ? groups : [...apart, { name: othersName, totals: rest }];
  return drawn.map(({ name, totals }) => ({
    name,
    values: seriesOf(totals, steps, measure),
    whole: sumOf(totals, measure),
  }));
}

const stepParts = {
  hour: { hour: '2-digit', minute: '2-digit' },
  day: { day: 'numeric', month: 'short' },
  month: { month: 'short', year: '2-digit' },
} as const;

/** Days and months are summed in UTC. */
const stepZone = ({ unit }: Period): string => (unit === 'hour' ? shownZone() : 'UTC');

function stepText(date: Date, period: Period): string {
  return date.toLocaleString(undefined, { ...stepParts[period.unit], timeZone: stepZone(period) });
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
