/** One account: its plan, credits, keys and ledger, with the actions of an operator. */
import { useState } from 'preact/hooks';
import type { Account } from '../../../gen/parley/account/v1/account_pb.ts';
import { admin } from '../api.ts';
import { Day } from '../format.tsx';
import { KeyList } from '../keys/key-list.tsx';
import { keysOfAccount } from '../keys/key-owner.ts';
import { LedgerTable } from '../ledger-table.tsx';
import { LimitsCard } from '../limits/limit-meters.tsx';
import { CreditsCard, FairUseCard, PlanCard } from '../meters.tsx';
import { Show, useLoaded } from '../states.tsx';
import { type AccountAction, AccountDialog } from './account-dialog.tsx';

export function AccountPage({ id }: { readonly id: string }) {
  const [turn, setTurn] = useState(0);
  const account = useLoaded(
    `account ${id}`,
    async (signal) => (await admin.getAccount({ accountId: id }, { signal })).account,
  );
  const keys = useLoaded(
    `keys ${id}`,
    async (signal) => (await admin.listKeys({ accountId: id }, { signal })).keys,
  );
  const [action, setAction] = useState<AccountAction>();
  const done = () => {
    setAction(undefined);
    setTurn((last) => last + 1);
    account.reload();
  };
  return (
    <>
      <p class="crumbs">
        <a href="/console/accounts">Accounts</a>
      </p>
      <Show of={account} what="the account">
        {(value) => value && <Head account={value} onAction={setAction} />}
      </Show>
      <KeyList keys={keys} owner={keysOfAccount(id)} />
      <section class="card">
        <h2>Ledger</h2>
        <LedgerTable
          turn={`${id} ${turn}`}
          read={(page, signal) => admin.listLedgerEntries({ accountId: id, ...page }, { signal })}
        />
      </section>
      {action !== undefined && (
        <AccountDialog id={id} action={action} onDone={done} onClose={() => setAction(undefined)} />
      )}
    </>
  );
}

function Head({
  account,
  onAction,
}: {
  readonly account: Account;
  readonly onAction: (action: AccountAction) => void;
}) {
  const { id, name, createdAt, suspendedAt, deletedAt, subscription } = account;
  const isOpen = subscription?.state === 'trial' || subscription?.state === 'active';
  return (
    <>
      <div class="title">
        <h1>{name}</h1>
        <a href={`/console/usage?account=${id}`}>Usage</a>
      </div>
      <p class="quiet">
        <code>{id}</code>, made on {createdAt && <Day at={createdAt} />}
      </p>
      {deletedAt === undefined && suspendedAt !== undefined && (
        <p class="notes">
          <strong>
            Suspended since <Day at={suspendedAt} />.
          </strong>{' '}
          All its requests are refused.
        </p>
      )}
      <p class="actions">
        {subscription?.state === 'none' && (
          <button type="button" onClick={() => onAction('trial')}>
            Start the trial
          </button>
        )}
        <button type="button" onClick={() => onAction('plan')}>
          {isOpen ? 'Change the plan’s end' : 'Open a plan'}
        </button>
        {isOpen && (
          <button type="button" onClick={() => onAction('end')}>
            End the {subscription?.state === 'trial' ? 'trial' : 'plan'}
          </button>
        )}
        <button type="button" onClick={() => onAction('load')}>
          Load credits
        </button>
        <button type="button" onClick={() => onAction('adjust')}>
          Correct the balance
        </button>
      </p>
      <div class="cards">
        <PlanCard account={account} />
        <CreditsCard account={account} />
        <FairUseCard account={account} />
        <LimitsCard title="Limits" owner={account} />
      </div>
    </>
  );
}
