/** One account: its plan, credits, keys and ledger, with the actions of an operator. */
import { useState } from 'preact/hooks';
import type { Account } from '../../../gen/parley/account/v1/account_pb.ts';
import { admin } from '../api.ts';
import { Day } from '../format.tsx';
import { LedgerTable } from '../ledger-table.tsx';
import { CreditsCard, FairUseCard, PlanCard } from '../meters.tsx';
import { Show, useLoaded } from '../states.tsx';
import { type AccountAction, AccountDialog } from './account-dialog.tsx';
import { KeyTable } from './key-table.tsx';
import { SecretDialog } from './secret-dialog.tsx';

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
  const [secret, setSecret] = useState<string>();
  const done = (made?: string) => {
    setAction(undefined);
    setSecret(made);
    setTurn((last) => last + 1);
    account.reload();
    keys.reload();
  };
  return (
    <>
      <p class="crumbs">
        <a href="/console/accounts">Accounts</a>
      </p>
      <Show of={account} what="the account">
        {(value) => value && <Head account={value} onAction={setAction} />}
      </Show>
      <section class="card">
        <div class="title">
          <h2>Keys</h2>
          <button type="button" onClick={() => setAction('key')}>
            New key
          </button>
        </div>
        <Show of={keys} what="the keys">
          {(value) => <KeyTable keys={value} onChange={keys.reload} />}
        </Show>
      </section>
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
      {secret !== undefined && <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />}
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
  const { id, name, createdAt, subscription } = account;
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
      </div>
    </>
  );
}
