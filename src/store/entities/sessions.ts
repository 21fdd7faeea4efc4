import { sql } from 'kysely';
import { type EndedSession, endedSessionsMax, type SessionStore } from '../../core/entities/session.ts';
import type { Executor } from '../sql/executor.ts';
import { hasChanged, step } from '../sql/job.ts';
import { query, statement } from '../sql/statement.ts';

const endedSession = statement((p: Omit<EndedSession, 'untilMs'>) =>
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

export function sessionStore(executor: Executor): SessionStore {
  return {
    async end(session, nowMs) {
      const forgotten = step(forget, { nowMs: BigInt(nowMs) });
      const [, ...inserted] = await executor.run({ steps: [forgotten, step(insert, session)] });
      return hasChanged(inserted);
    },
    isEnded: async (session) => (await executor.get(endedSession, session)) !== undefined,
  };
}
