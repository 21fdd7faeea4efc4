import type { Account } from '../../core/entities/account.ts';
import type { IdempotencyStore } from '../../core/entities/idempotency.ts';
import type { KeyStore } from '../../core/entities/key.ts';
import type { LedgerStore } from '../../core/entities/ledger.ts';
import type { Store } from '../../core/entities/store.ts';
import type { UsageStore } from '../../core/entities/usage.ts';
import { type Executor, reporting } from '../sql/executor.ts';
import { query, statement } from '../sql/statement.ts';
import { accountStore } from './accounts.ts';
import { alertStore } from './alerts.ts';
import { auditStore } from './audit.ts';
import { idempotencyStore } from './idempotency.ts';
import { keyStore } from './keys.ts';
import { ledgerStore } from './ledger.ts';
import { countPrunable, prune } from './prune.ts';
import { sessionStore } from './sessions.ts';
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
    usage: usageStore(executor),
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

function usageStore(executor: Executor): UsageStore {
  return {
    ...usageLists(executor),
    totals: (wanted) => readTotals(executor, wanted),
    countPrunable: (cut) => countPrunable(executor, cut),
    prune: (cut, recordsMax, audit) => prune(executor, cut, recordsMax, audit),
  };
}
