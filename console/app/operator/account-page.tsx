/** An account: its plan, credits, keys and ledger, with the operator's actions. */
import { useState } from 'preact/hooks';
import type { Account } from '../../../gen/parley/account/v1/account_pb.ts';
import { ActionMenu } from '../action-menu.tsx';
import { alertsOfAccount } from '../alerts/alert-owner.ts';
import { Alerts } from '../alerts/alerts.tsx';
import { admin } from '../api.ts';
import { Day } from '../format.tsx';
import { KeyList } from '../keys/key-list.tsx';
import { keysOfAccount } from '../keys/key-owner.ts';
import { LedgerTable } from '../ledger-table.tsx';
import { LimitsCard } from '../limits/limit-meters.tsx';
import { CreditsCard, FairUseCard, PlanCard } from '../meters.tsx';
import { navigate } from '../router.ts';
import { mayDo, type SignedIn } from '../session.ts';
import { Show, useLoaded } from '../states.tsx';
import { type AccountAction, AccountDialog, graveActions } from './account-dialog.tsx';

interface Props {
  readonly id: string;
  readonly session: SignedIn;
}

export function AccountPage({ id, session }: Props) {
  const [turn, setTurn] = useState(0);
  const account = useLoaded(
    `account ${id}`,
    async (signal) => (await admin.getAccount({ accountId: id }, { signal })).account,
  );
  const [action, setAction] = useState<AccountAction>();
  const done = () => {
    setAction(undefined);
    if (action === 'delete') return navigate('/console/accounts');
    setTurn((last) => last + 1);
    // The address may contain the name, which may have changed.
    const path = `/console/accounts/${account.value?.id ?? id}`;
    if (action === 'rename' && location.pathname !== path) return navigate(path);
    account.reload();
  };
  return (
    <>
      <p class="crumbs">
        <a href="/console/accounts">Accounts</a>
      </p>
      <Show of={account} what="the account">
        {(value) => value && <Head account={value} session={session} onAction={setAction} />}
      </Show>
      {account.value && <Parts of={account.value} session={session} turn={turn} />}
      {action !== undefined && account.value !== undefined && (
        <AccountDialog
          accountId={account.value.id}
          action={action}
          onDone={done}
          onClose={() => setAction(undefined)}
        />
      )}
    </>
  );
}

interface PartsProps {
  readonly of: Account;
  readonly session: SignedIn;
  /** The ledger is reloaded when this changes. */
  readonly turn: number;
}

function Parts({ of: { id: accountId, deletedAt }, session, turn }: PartsProps) {
  const isDeleted = deletedAt !== undefined;
  return (
    <>
      {mayDo(session, 'keys') && <KeyList owner={keysOfAccount(accountId)} isDeleted={isDeleted} />}
      {!isDeleted && mayDo(session, 'alerts:read') && (
        <Alerts owner={alertsOfAccount(accountId)} session={session} isReadOnly={!mayDo(session, 'alerts')} />
      )}
      <section class="card">
        <h2>Ledger</h2>
        <p class="quiet">
          <a href={`/console/accounts/${accountId}/statement`}>Statement of a month</a>
        </p>
        <LedgerTable
          turn={`${accountId} ${turn}`}
          read={(page, signal) => admin.listLedgerEntries({ accountId, ...page }, { signal })}
        />
      </section>
    </>
  );
}

interface HeadProps {
  readonly account: Account;
  readonly session: SignedIn;
  readonly onAction: (action: AccountAction) => void;
}

function Head({ account, session, onAction }: HeadProps) {
  const { id, name, createdAt, suspendedAt, deletedAt } = account;
  return (
    <>
      <div class="title">
        <h1>{name}</h1>
        {mayDo(session, 'usage:read') && <a href={`/console/usage?account=${id}`}>Usage</a>}
        {deletedAt === undefined && <Actions of={account} session={session} onAction={onAction} />}
      </div>
      <p class="quiet">
        <code>{id}</code>, created on {createdAt && <Day at={createdAt} />}
      </p>
      {suspendedAt !== undefined && (
        <p class="notes">
          <strong>
            Suspended since <Day at={suspendedAt} />.
          </strong>{' '}
          All its requests are refused.
        </p>
      )}
      {deletedAt !== undefined && (
        <p>
          <strong>
            Deleted on <Day at={deletedAt} />.
          </strong>
        </p>
      )}
      <div class="cards">
        <PlanCard account={account} />
        <CreditsCard account={account} />
        <FairUseCard account={account} />
        <LimitsCard title="Limits" owner={account} />
      </div>
    </>
  );
}

interface ActionsProps {
  readonly of: Account;
  readonly session: SignedIn;
  readonly onAction: (action: AccountAction) => void;
}

function Actions({ of: { subscription, suspendedAt }, session, onAction }: ActionsProps) {
  const state = subscription?.state ?? 'none';
  const isOpen = state === 'trial' || state === 'active';
  const actions: readonly (readonly [AccountAction, string])[] = [
    ...(state === 'none' ? [['trial', 'Start the trial'] as const] : []),
    state === 'active' ? ['prolong', 'Change the plan’s end'] : ['plan', 'Open a plan'],
    ...(isOpen ? [['end', `End the ${state === 'trial' ? 'trial' : 'plan'}`] as const] : []),
    ['load', 'Load credits'],
    ['adjust', 'Correct the balance'],
    ['limits', 'Limits'],
    ['rename', 'Rename'],
    suspendedAt === undefined ? ['suspend', 'Suspend'] : ['resume', 'Resume'],
    ['delete', 'Delete'],
  ];
  const allowed = actions.filter(([action]) =>
    mayDo(session, action === 'load' || action === 'adjust' ? 'credits:load' : 'accounts:write'),
  );
  const further = allowed.filter(([action]) => action !== 'load');
  return (
    <div class="actions">
      {further.length < allowed.length && (
        <button type="button" class="primary" onClick={() => onAction('load')}>
          Load credits
        </button>
      )}
      {further.length > 0 && (
        <ActionMenu
          actions={further.map(([action, words]) => ({
            words,
            isGrave: graveActions.has(action),
            run: () => onAction(action),
          }))}
        />
      )}
    </div>
  );
}
