import type { ElementLimits, Excess } from '../codec/json-scan.ts';
import { ParleyError } from '../core/errors.ts';

/** @throws `invalid_request_error` for a request that exceeds a limit */
export function refuseExcess(excess: Excess | undefined, limits: ElementLimits): void {
  if (excess === undefined) return;
  const message =
    excess === 'levelsMax'
      ? `The request is nested more than ${limits.levelsMax} levels deep. Send it flatter.`
      : `The request has more than ${limits.elementsMax} elements (members of objects and of arrays). Send fewer at once.`;
  throw new ParleyError('invalid_request_error', { message });
}
