/** A UTC month, such as `2026-11`. */
export type Month = `${number}-${string}`;

export function monthOf(nowMs: number): Month {
  const date = new Date(nowMs);
  return `${date.getUTCFullYear()}-${String(date.getUTCMonth() + 1).padStart(2, '0')}`;
}

/** The first moment of the next month. */
export function nextMonthMs(nowMs: number): number {
  const date = new Date(nowMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}
