/** Numbers, credits and times in the reader's language; the exact value on hover. */
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';

const nanoPerCredit = 1_000_000_000n;
export const dayMs = 86_400_000;

const whole = new Intl.NumberFormat();
const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const percents = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
const spans = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const moments = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });

export const wholeText = (value: number | bigint): string => whole.format(value);
export const shortText = (value: number): string => short.format(value);
export const percentText = (share: number): string =>
  share > 0 && share < 0.001 ? `< ${percents.format(0.001)}` : percents.format(share);
export const dateText = (date: Date, timeZone?: string): string =>
  timeZone === undefined
    ? dates.format(date)
    : date.toLocaleDateString(undefined, { dateStyle: 'medium', timeZone });

/** An amount in credits, as an exact decimal. */
export function exactCredits(nano: bigint): string {
  const size = nano < 0n ? -nano : nano;
  const fraction = String(size % nanoPerCredit)
    .padStart(9, '0')
    .replace(/0+$/, '');
  return `${nano < 0n ? '-' : ''}${size / nanoPerCredit}${fraction && `.${fraction}`}`;
}

/** The amount of an exact decimal in credits, such as `9.99875`. */
export function nanoOf(credits: string): bigint {
  const [whole = '0', fraction = ''] = credits.replace('-', '').split('.');
  const nano = BigInt(whole) * nanoPerCredit + BigInt(fraction.padEnd(9, '0'));
  return credits.startsWith('-') ? -nano : nano;
}

/** With two decimals, or as many as show the first two digits that are not zero. */
export function creditsText(nano: bigint): string {
  const value = Number(nano) / Number(nanoPerCredit);
  const size = Math.abs(value);
  const places = size === 0 || size >= 1 ? 2 : Math.min(9, 1 - Math.floor(Math.log10(size)));
  return value.toLocaleString(undefined, {
    minimumFractionDigits: 2,
    maximumFractionDigits: Math.max(2, places),
  });
}

export function Credits({ nano }: { readonly nano: bigint }) {
  return (
    <span class="number" title={`${exactCredits(nano)} credits`}>
      {creditsText(nano)}
    </span>
  );
}

export function Count({ value }: { readonly value: number | bigint }) {
  return (
    <span class="number" title={wholeText(value)}>
      {Number(value) < 100_000 ? wholeText(value) : shortText(Number(value))}
    </span>
  );
}

export function Time({ at }: { readonly at: Timestamp | Date | undefined }) {
  if (at === undefined) return <>–</>;
  const date = at instanceof Date ? at : timestampDate(at);
  return (
    <time dateTime={date.toISOString()} title={date.toISOString()}>
      {moments.format(date)}
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
