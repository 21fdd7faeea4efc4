import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface Ranked {
  readonly title: string;
  readonly rank?: number;
}

interface Fit {
  /** Of the part that scrolls. */
  readonly target: RefObject<HTMLElement | null>;
  /** Whether the table shows all columns, each as wide as its contents, to be measured before it is painted. */
  readonly isMeasuring: boolean;
  /** Whether the part is as narrow as on a phone. */
  readonly isNarrow: boolean;
  /** The columns for which there is no room. */
  readonly hidden: ReadonlySet<string>;
}

/** 32rem, as in the styles. */
const narrowPx = 480;

const none: ReadonlySet<string> = new Set();

/**
 * Finds the columns that fit into a part of the page.
 * @param isOn false: all columns are shown, and the part scrolls
 * @param contents the columns are measured again when one of these changes
 */
export function useFit(columns: readonly Ranked[], isOn: boolean, contents: readonly unknown[]): Fit {
  const target = useRef<HTMLElement>(null);
  const [widths, setWidths] = useState<readonly number[]>();
  const [room, setRoom] = useState(Number.POSITIVE_INFINITY);
  const titles = columns.map(({ title }) => title).join();
  // A change of state while rendering shows the new rows with all columns first.
  const last = useRef<readonly unknown[]>([]);
  const measured = [titles, isOn, ...contents];
  const isStale = measured.some((value, index) => value !== last.current[index]);
  const isMeasuring = isOn && (isStale || widths === undefined);
  useLayoutEffect(() => {
    const part = target.current;
    if (!isMeasuring || part === null) return;
    last.current = measured;
    setRoom(roomOf(part));
    setWidths([...part.querySelectorAll('thead th')].map((head) => head.getBoundingClientRect().width));
  });
  useEffect(() => {
    const part = target.current;
    if (part === null) return;
    const observer = new ResizeObserver(() => setRoom(roomOf(part)));
    observer.observe(part);
    return () => observer.disconnect();
  }, []);
  const hidden = isMeasuring || !isOn ? none : hiddenOf(columns, widths ?? [], room);
  return { target, isMeasuring, isNarrow: room < narrowPx, hidden };
}

function roomOf(part: HTMLElement): number {
  const { paddingLeft, paddingRight } = getComputedStyle(part);
  return part.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
}

function hiddenOf(columns: readonly Ranked[], widths: readonly number[], room: number): ReadonlySet<string> {
  const hidden = new Set<string>();
  let width = widths.reduce((sum, one) => sum + one, 0);
  const places = columns.map(({ title, rank = 0 }, index) => ({ title, rank, width: widths[index] ?? 0 }));
  for (const column of places.sort((one, other) => other.rank - one.rank)) {
    if (width <= room || column.rank === 0) break;
    hidden.add(column.title);
    width -= column.width;
  }
  return hidden;
}
