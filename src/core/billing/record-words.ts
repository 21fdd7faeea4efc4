/** Why a request failed, in the words of the command line and the console. */
import type { EngineAttempt, ReachedLimit } from '../../../gen/parley/account/v1/account_pb.ts';

/**
 * Such as `azure: upstream_error, its upstream answered 429 (insufficient_quota), after 0.21 s`.
 * @param spanText writes milliseconds
 */
export function attemptText(
  { engine, model, code, upstreamStatus, upstreamCode, durationMs }: Omit<EngineAttempt, '$typeName'>,
  spanText: (ms: number) => string,
): string {
  const name = upstreamCode === undefined ? '' : ` (${upstreamCode})`;
  const answered = upstreamStatus === undefined ? '' : `, its upstream answered ${upstreamStatus}${name}`;
  const reported =
    upstreamStatus === undefined && name !== '' ? `, its upstream reported an error${name}` : '';
  const after = durationMs === undefined ? '' : `, after ${spanText(durationMs)}`;
  const forModel = model === undefined ? '' : ` for ${model}`;
  return `${engine}${forModel}: ${code ?? 'answered'}${answered}${reported}${after}`;
}

/**
 * Such as `requests of the key: 60 of 60 taken, 1 needed`.
 * @param creditsText writes nano-credits
 */
export function limitText(
  { owner, unit, period, amount, limit, taken }: Omit<ReachedLimit, '$typeName'>,
  creditsText: (nano: bigint) => string,
): string {
  const text = unit === 'credits' || unit === 'balance' ? creditsText : String;
  const when = period === undefined ? '' : ` (${period})`;
  const what = unit.replaceAll('_', ' ');
  return `${what} of the ${owner}${when}: ${text(taken)} of ${text(limit)} taken, ${text(amount)} needed`;
}
