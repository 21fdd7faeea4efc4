import type { Availability, Engine } from '../../core/ports/engines.ts';

/** Several engines can work where one of them can; else each says why it cannot. */
export function availabilityOf(engines: readonly Engine[]): Availability {
  const reasons: string[] = [];
  let isPending = false;
  for (const engine of engines) {
    const availability = engine.availability();
    if (availability.available) return availability;
    reasons.push(availability.reason);
    isPending ||= availability.isPending === true;
  }
  return { available: false, reason: reasons.join(' '), isPending };
}
