import type { RateUse } from '../../core/limits/shared-rates.ts';

/** What a running request has taken of rates, as text in its started record. */
export function rateUsesToText(uses: readonly RateUse[]): string | null {
  return uses.length > 0 ? JSON.stringify(uses) : null;
}

export function rateUsesFromText(text: string | null): readonly RateUse[] {
  return text === null ? [] : (JSON.parse(text) as readonly RateUse[]);
}
