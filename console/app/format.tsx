/** Numbers, credits and times in the reader's language and the chosen time zone; the exact value on hover. */
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import type { ComponentChildren } from 'preact';
import { creditsText, exactCredits } from './credits.ts';
import { shownZone } from './zone.tsx';

export const dayMs = 86_400_000;

const whole = new Intl.NumberFormat();
const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const percents = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
const spans = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

export const wholeText = (value: number | bigint): string => whole.format(value);
export const shortText = (value: number): string => short.format(value);
export const percentText = (share: number): string =>
  share > 0 && share < 0.001 ? `< ${percents.format(0.001)}` : percents.format(share);
export const dateText = (date: Date, timeZone = shownZone()): string =>
  date.toLocaleDateString(undefined, { dateStyle: 'medium', timeZone });

interface CreditsProps {
  readonly nano: bigint;
  /** The decimals of its column. */
  readonly places?: number;
}

export function Credits({ nano, places }: CreditsProps) {
  return (
    <span class="number" title={`${exactCredits(nano)} credits`}>
      {creditsText(nano, places)}
    </span>
  );
}

/** A message of the server, whose names of settings and commands are between backticks. */
export function Message({ text }: { readonly text: string }) {
  const parts = text.split('`');
  return <>{parts.map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))}</>;
}

export function Count({ value }: { readonly value: number | bigint }) {
  return (
    <span class="number" title={wholeText(value)}>
      {Number(value) < 100_000 ? wholeText(value) : shortText(Number(value))}
    </span>
  );
}

interface FigureProps {
  readonly name: string;
  readonly title?: string;
  readonly isBad?: boolean;
  readonly children: ComponentChildren;
}

/** One of the main numbers of a page. */
export function Figure({ name, title, isBad = false, children }: FigureProps) {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd class={isBad ? 'bad' : ''}>{children}</dd>
    </div>
  );
}

export function Time({ at }: { readonly at: Timestamp | Date | undefined }) {
  if (at === undefined) return <>–</>;
  const date = at instanceof Date ? at : timestampDate(at);
  return (
    <time dateTime={date.toISOString()} title={date.toISOString()}>
      {date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium', timeZone: shownZone() })}
    </time>
  );
}

export function Day({ at }: { readonly at: Timestamp | Date }) {
  const date = at instanceof Date ? at : timestampDate(at);
  return (
    <time dateTime={date.toISOString()} title={date.toISOString()}>
      {dateText(date)}
    </time>
  );
}

export type Fact = readonly [name: string, value: ComponentChildren];

/** Leaves out facts that are undefined. */
export function Facts({ of }: { readonly of: readonly Fact[] }) {
  const known = of.filter(([, value]) => value !== undefined);
  return (
    <dl class="facts">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Relative time, such as `in 13 days` or `5 minutes ago`. */
export function spanText(at: Date, now = Date.now()): string {
  const ms = at.getTime() - now;
  const size = Math.abs(ms);
  if (size >= 2 * dayMs) return spans.format(Math.round(ms / dayMs), 'day');
  if (size >= 2 * 3_600_000) return spans.format(Math.round(ms / 3_600_000), 'hour');
  return spans.format(Math.round(ms / 60_000), 'minute');
}

export function durationText(ms: number): string {
  if (ms < 1_000) return `${wholeText(Math.round(ms))} ms`;
  return `${(ms / 1000).toLocaleString(undefined, { maximumFractionDigits: 2 })} s`;
}

export function secondsText(seconds: number): string {
  if (seconds < 120) return `${seconds.toLocaleString(undefined, { maximumFractionDigits: 1 })} s`;
  return `${(seconds / 60).toLocaleString(undefined, { maximumFractionDigits: 1 })} min`;
}
