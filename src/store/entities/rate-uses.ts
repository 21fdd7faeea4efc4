import type { RateUse } from '../../core/entities/shared-rates.ts';

/** The rate uses of a running request, as text in its started record. */
export function rateUsesToText(uses: readonly RateUse[]): string | null {
  return uses.length > 0 ? JSON.stringify(uses) : null;
}

export function rateUsesFromText(text: string | null): readonly RateUse[] {
  return text === null ? [] : (JSON.parse(text) as readonly RateUse[]);
}
