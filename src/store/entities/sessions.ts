import { sql } from 'kysely';
import { type EndedSession, endedSessionsMax } from '../../core/entities/key.ts';
import { type Step, step } from '../sql/job.ts';
import { query, statement } from '../sql/statement.ts';

export const endedSession = statement((p: Omit<EndedSession, 'untilMs'>) =>
  query
    .selectFrom('ended_sessions')
    .select('session')
    .where('owner', '=', p.owner)
    .where('session', '=', p.session),
);
const insert = statement(
  (p: EndedSession) => sql`insert into ended_sessions (owner, session, until_ms)
    select ${p.owner}, ${p.session}, ${p.untilMs}
    where (select count(*) from ended_sessions where owner = ${p.owner}) < ${endedSessionsMax}
    on conflict (owner, session) do update set until_ms = excluded.until_ms`,
);
const forget = statement((p: { nowMs: bigint }) =>
  query.deleteFrom('ended_sessions').where('until_ms', '<=', p.nowMs),
);

/** The second step changes nothing if the key has ended too many sessions. */
export function endSession(session: EndedSession, nowMs: number): Step[] {
  return [step(forget, { nowMs: BigInt(nowMs) }), step(insert, session)];
}
