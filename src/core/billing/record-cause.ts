/** Why a request ended as it did, for its record. */
import type { RecordCause, RecordedAttempt, RecordedLimit } from '../entities/usage.ts';
import type { ReachedLimit } from '../values/errors.ts';
import type { EngineAttempt } from '../values/signal.ts';

interface Facts {
  readonly attempts: readonly EngineAttempt[];
  readonly reached: ReachedLimit | undefined;
  /** Units of fair use that were reserved and not spent. */
  readonly returnedUnits: number | undefined;
}

/** Engines that a record keeps. */
const attemptsMax = 16;

/** Undefined if there is nothing to say, as for most requests. */
export function causeOf({ attempts, reached, returnedUnits }: Facts): RecordCause | undefined {
  const hasFailed = attempts.some(({ error }) => error !== undefined);
  if (!hasFailed && reached === undefined && !returnedUnits) return undefined;
  const isMixed = attempts.some(({ model }) => model !== attempts[0]?.model);
  return {
    ...(hasFailed && { attempts: attempts.slice(-attemptsMax).map((attempt) => recorded(attempt, isMixed)) }),
    ...(reached && { limit: limitOf(reached) }),
    ...(returnedUnits && { returnedUnits }),
  };
}

/** @param isMixed whether attempts were for several models */
function recorded(
  { engine, model, error, firstOutputMs, durationMs }: EngineAttempt,
  isMixed: boolean,
): RecordedAttempt {
  return {
    engine,
    model: isMixed ? model : undefined,
    code: error?.code,
    upstreamStatus: error?.upstream?.status,
    upstreamCode: error?.upstream?.code,
    firstOutputMs: firstOutputMs && Math.round(firstOutputMs),
    durationMs: durationMs && Math.round(durationMs),
  };
}

const ownerKinds: Readonly<Record<string, RecordedLimit['owner']>> = { key_: 'key', usr_: 'end_user' };

function limitOf({ owner, unit, period, amount, limit, taken }: ReachedLimit): RecordCause['limit'] {
  return {
    owner: ownerKinds[owner.slice(0, 4)] ?? 'account',
    unit,
    ...(period !== undefined && { period }),
    amount,
    limit,
    taken,
  };
}
