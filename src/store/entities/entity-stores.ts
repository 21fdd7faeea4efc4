import { sql } from 'kysely';
import type { Account } from '../../core/entities/account.ts';
import type { IdempotencyStore } from '../../core/entities/idempotency.ts';
import type { KeyStore } from '../../core/entities/key.ts';
import type { LedgerStore } from '../../core/entities/ledger.ts';
import { type EndedSession, endedSessionsMax, type SessionStore } from '../../core/entities/session.ts';
import type { Store } from '../../core/entities/store.ts';
import { type Executor, reporting } from '../sql/executor.ts';
import { hasChanged, step } from '../sql/job.ts';
import { query, statement } from '../sql/statement.ts';
import { accountStore } from './accounts.ts';
import { alertStore } from './alerts.ts';
import { auditStore } from './audit.ts';
import { idempotencyStore } from './idempotency.ts';
import { keyStore } from './keys.ts';
import { ledgerStore } from './ledger.ts';
import { countPrunable, prune, pruneEndUsers } from './prune.ts';
import { usageLists } from './usage-lists.ts';
import { readTotals } from './usage-totals.ts';

/** The operations that each database implements in its own way. */
interface OwnOperations {
  readonly findKey: KeyStore['find'];
  /** Called when keys, names or subscriptions may have changed. */
  readonly policyChanged: () => void;
  readonly credits: Pick<LedgerStore, 'available' | 'enter'>;
  readonly claim: IdempotencyStore['claim'];
  /** Default: the account as the database has it. */
  readonly withCredits?: (account: Account) => Account;
}

const anything = statement((_: object) =>
  query.selectFrom('accounts').select('id').unionAll(query.selectFrom('api_keys').select('id')).limit(1),
);

const reasoningSecret = statement((_: object) =>
  query.selectFrom('secrets').select('secret').where('purpose', '=', 'reasoning'),
).map(({ secret }) => secret);

type EntityStores = Omit<Store, 'requests' | 'nodes' | 'close'>;

/** The stores of entities, equal for every database. */
export function entityStores(executor: Executor, own: OwnOperations): EntityStores {
  const policies = reporting(executor, own.policyChanged);
  return {
    accounts: accountStore(policies, own.withCredits),
    keys: keyStore(policies, own.findKey),
    sessions: sessionStore(executor),
    ledger: ledgerStore(executor, own.credits),
    usage: {
      ...usageLists(executor),
      totals: (wanted) => readTotals(executor, wanted),
      countPrunable: (cut) => countPrunable(executor, cut),
      prune: (cut, recordsMax, audit) => prune(executor, cut, recordsMax, audit),
      pruneEndUsers: (cut) => pruneEndUsers(executor, cut),
    },
    idempotency: idempotencyStore(executor, own.claim),
    audit: auditStore(executor),
    alerts: alertStore(executor),
    async reasoningSecret() {
      const secret = await executor.get(reasoningSecret, {});
      if (secret === undefined) throw new Error('the database has no secret for reasoning');
      return secret;
    },
    isEmpty: async () => (await executor.get(anything, {})) === undefined,
  };
}

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

function sessionStore(executor: Executor): SessionStore {
  return {
    async end(session, nowMs) {
      const forgotten = step(forget, { nowMs: BigInt(nowMs) });
      const [, ...inserted] = await executor.run({ steps: [forgotten, step(insert, session)] });
      return hasChanged(inserted);
    },
    isEnded: async (session) => (await executor.get(endedSession, session)) !== undefined,
  };
}
