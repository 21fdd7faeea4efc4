/** Draws stacked bars, or lines. Loaded with the first chart. */
import uPlot from 'uplot';

export interface Plotted {
  /** Seconds since 1970, one for each bar. */
  readonly times: readonly number[];
  readonly series: readonly {
    readonly name: string;
    readonly color: string;
    /** Bars have a number everywhere. */
    readonly values: readonly (number | null)[];
  }[];
  /** Whether the values are no parts of a sum, as medians are. */
  readonly isLines: boolean;
  /** Whether the axis has whole numbers only. */
  readonly isWhole: boolean;
  readonly axisText: (value: number) => string;
  readonly timeText: (seconds: number) => string;
  readonly onHover: (index: number | undefined) => void;
}

const heightPx = 260;
const timeSpacePx = 70;

/** Draws into an element, and again whenever its width changes. Returns a function that removes the chart. */
export function plot(target: HTMLElement, plotted: Plotted): () => void {
  const { times, series, isLines } = plotted;
  const values = series.map((one) => one.values);
  // Each series of bars is drawn from zero to the top of its stack, the highest first.
  const data = (isLines ? values : stack(values)).toReversed();
  const chart = new uPlot(
    optionsFor(plotted, target.clientWidth),
    [[...times], ...data] as uPlot.AlignedData,
    target,
  );
  const observer = new ResizeObserver(() => chart.setSize({ width: target.clientWidth, height: heightPx }));
  observer.observe(target);
  return () => {
    observer.disconnect();
    chart.destroy();
  };
}

function stack(values: readonly (readonly (number | null)[])[]): number[][] {
  let below: readonly number[] = [];
  return values.map((own) => {
    const sum = own.map((value, index) => (value ?? 0) + (below[index] ?? 0));
    below = sum;
    return sum;
  });
}

/**
 * The bars with a text below them, as many as fit, the last one among them. Places of the library's own would be midnights of the
 * reader's time zone, but bars begin at midnight UTC.
 */
function labelled(times: readonly number[], width: number): number[] {
  const every = Math.max(1, Math.ceil((times.length * timeSpacePx) / width));
  return times.filter((_, index) => (times.length - 1 - index) % every === 0);
}

function optionsFor(
  { times, series, isLines, isWhole, axisText, timeText, onHover }: Plotted,
  width: number,
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const probe = (name: string) => resolved(style.getPropertyValue(name));
  const [quiet, line] = [probe('--quiet'), probe('--line')];
  const axis = { stroke: quiet, font: `12px ${style.fontFamily}`, ticks: { show: false } };
  const bars = uPlot.paths.bars?.({ size: [0.72, 48], radius: 0.12 });
  const formOf = (color: string): Partial<uPlot.Series> =>
    isLines
      ? { width: 2, spanGaps: true, points: { show: true, size: 7, fill: color } }
      : { width: 0, fill: color, ...(bars && { paths: bars }), points: { show: false } };
  return {
    width,
    height: heightPx,
    legend: { show: false },
    padding: [12, 16, 0, 0],
    cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { show: false } },
    scales: {
      x: { time: true, range: (_, low, high) => spread(low, high) },
      y: { range: (_, __, high) => [0, Math.max(high * 1.08, 1e-9)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        splits: ({ width }) => labelled(times, width),
        values: (_, splits) => splits.map(timeText),
        size: 28,
      },
      {
        ...axis,
        grid: { stroke: line, width: 1 },
        values: (_, splits) => splits.map(axisText),
        size: 64,
        ...(isWhole && { incrs: wholeSteps }),
      },
    ],
    series: [
      {},
      ...series.toReversed().map(({ name, color }) => {
        const own = resolved(color);
        return { label: name, stroke: own, ...formOf(own) };
      }),
    ],
    hooks: { setCursor: [({ cursor }) => onHover(cursor.idx ?? undefined)] },
  };
}

/** 1, 2, 5, 10, 20 and so on, so that no request is drawn in halves. */
const wholeSteps = Array.from({ length: 15 }, (_, tens) => [1, 2, 5].map((step) => step * 10 ** tens)).flat();

/** Room for the first and the last bar. */
function spread(low: number, high: number): [number, number] {
  const margin = high === low ? 43_200 : (high - low) * 0.03;
  return [low - margin, high + margin];
}

/** A canvas does not support `light-dark()` or variables, so the browser computes the color. */
function resolved(color: string): string {
  const probe = document.createElement('i');
  probe.style.color = color;
  document.body.append(probe);
  const computed = getComputedStyle(probe).color;
  probe.remove();
  return computed;
}
