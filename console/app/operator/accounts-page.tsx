/** All accounts, found by a part of their name. */

import { useRef, useState } from 'preact/hooks';
import type { Account } from '../../../gen/parley/account/v1/account_pb.ts';
import type { AccountTotals } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { admin } from '../api.ts';
import { CallForm, Dialog } from '../dialog.tsx';
import { Choice, Field, SearchField } from '../fields.tsx';
import { Credits, Day, percentText } from '../format.tsx';
import { later, loadCode } from '../later.tsx';
import { Paged, type PageOf } from '../paged.tsx';
import { navigate, useQuery } from '../router.ts';
import { mayDo, type SignedIn } from '../session.ts';
import { Empty, Show, useLoaded } from '../states.tsx';
import { type DataColumn, DataTable } from '../table/data-table.tsx';
import type { Sort } from '../table-head.tsx';
import type { BulkAction, BulkProps } from './bulk-dialog.tsx';

const pageSize = 50;

interface Filter {
  readonly name: string;
  readonly state: string;
  readonly order: string;
}

/** The accounts of a page, and on the first page the sum of all. */
interface AccountsPageOf extends PageOf<Account> {
  readonly totals: AccountTotals | undefined;
}

async function readPage(
  { name, state, order }: Filter,
  pageToken?: string,
  signal?: AbortSignal,
): Promise<AccountsPageOf> {
  const request = {
    pageSize,
    ...(name !== '' && { nameContains: name }),
    ...(state !== '' && { state }),
    ...(order !== '' && { orderBy: order }),
    ...(pageToken !== undefined && { pageToken }),
  };
  const { accounts, nextPageToken, totals } = await admin.listAccounts(request, signal ? { signal } : {});
  return { items: accounts, next: nextPageToken, totals };
}

const states = [
  ['active', 'On the plan'],
  ['trial', 'In the trial'],
  ['ended', 'Ended'],
  ['none', 'Never had a plan'],
  ['suspended', 'Suspended'],
] as const;

const orders = [
  ['', 'Oldest first'],
  ['created_desc', 'Newest first'],
  ['name', 'By name'],
  ['credits', 'Most credits first'],
  ['last_used', 'Last used first'],
] as const;

export function AccountsPage({ session }: { readonly session: SignedIn }) {
  const [name, setName] = useQuery('name');
  const [state, setState] = useQuery('state');
  const [order, setOrder] = useQuery('sort');
  const [isMaking, setMaking] = useState(false);
  const filter = { name: name.trim(), state, order };
  const first = useLoaded(`accounts ${JSON.stringify(filter)}`, (signal) =>
    readPage(filter, undefined, signal),
  );
  return (
    <>
      <div class="title">
        <h1>Accounts</h1>
        {mayDo(session, 'accounts:write') && (
          <button type="button" class="primary" onClick={() => setMaking(true)}>
            New account
          </button>
        )}
      </div>
      <section class="card">
        <search>
          <div class="filters">
            <SearchField label="Name" placeholder="Find by name" value={name} onChange={setName} />
            <Choice label="State" value={state} all="All states" options={states} onChange={setState} />
            <Choice label="Order" value={order} options={orders} onChange={setOrder} />
          </div>
        </search>
        <Show of={first} what="the accounts">
          {(page) => (
            <>
              {page.totals && <Totals of={page.totals} />}
              <Paged first={page} readMore={(token) => readPage(filter, token)}>
                {(accounts) => (
                  <AccountTable
                    accounts={accounts}
                    isFiltered={filter.name !== '' || state !== ''}
                    order={order}
                    onOrder={setOrder}
                    mayChange={mayDo(session, 'accounts:write')}
                    onChanged={first.reload}
                  />
                )}
              </Paged>
            </>
          )}
        </Show>
      </section>
      {isMaking && (
        <Dialog title="New account" onClose={() => setMaking(false)}>
          <CallForm
            action="Create the account"
            onSubmit={async (values) => {
              const { account } = await admin.createAccount({ name: String(values.get('name')) });
              navigate(`/console/accounts/${account?.id}`);
            }}
          >
            <Field
              label="Name"
              name="name"
              required
              maxLength={100}
              autocomplete="off"
              hint="Unique, such as a team’s name"
            />
          </CallForm>
        </Dialog>
      )}
    </>
  );
}

function Totals({ of: { accounts, balanceNanoCredits } }: { readonly of: AccountTotals }) {
  return (
    <p>
      {accounts.toLocaleString('en')} {accounts === 1n ? 'account' : 'accounts'} with{' '}
      <Credits nano={balanceNanoCredits} /> credits.
    </p>
  );
}

interface TableProps {
  readonly accounts: readonly Account[];
  readonly isFiltered: boolean;
  readonly order: string;
  readonly onOrder: (order: string) => void;
  readonly mayChange: boolean;
  readonly onChanged: () => void;
}

/** The orders of the server by the titles of their columns. Only `Made` can be turned around. */
const headOrders: Readonly<Record<string, readonly (readonly [order: string, Sort['direction']])[]>> = {
  Name: [['name', 'ascending']],
  Credits: [['credits', 'descending']],
  'Last used': [['last_used', 'descending']],
  Made: [
    ['created_desc', 'descending'],
    ['', 'ascending'],
  ],
};

function sortOf(title: string, { order, onOrder }: TableProps): Sort | undefined {
  const orders = headOrders[title];
  if (orders === undefined) return undefined;
  const at = orders.findIndex(([own]) => own === order);
  const [next = ''] = orders[(at + 1) % orders.length] ?? [];
  return { direction: orders[at]?.[1], onSort: () => onOrder(next) };
}

function AccountTable(props: TableProps) {
  const { accounts, isFiltered } = props;
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  if (accounts.length === 0) {
    return <Empty title={isFiltered ? 'No account matches.' : 'There are no accounts yet.'} />;
  }
  const selected = accounts.filter(({ id }) => ids.has(id));
  return (
    <>
      <BulkBar {...props} selected={selected} onSelect={setIds} />
      <DataTable
        id="accounts"
        label="Accounts"
        columns={[
          selection(accounts, ids, setIds),
          ...columns.map((column) => {
            const sort = sortOf(column.title, props);
            return sort ? { ...column, sort } : column;
          }),
        ]}
        rows={accounts}
        keyOf={({ id }) => id}
      />
    </>
  );
}

/** The boxes of the rows, with one in the head for all of them. */
function selection(
  accounts: readonly Account[],
  ids: ReadonlySet<string>,
  onSelect: (ids: ReadonlySet<string>) => void,
): DataColumn<Account> {
  const isAll = accounts.every(({ id }) => ids.has(id));
  return {
    title: 'Selected',
    head: (
      <input
        type="checkbox"
        aria-label="Select all that are shown"
        checked={isAll}
        indeterminate={!isAll && accounts.some(({ id }) => ids.has(id))}
        onChange={() => onSelect(new Set(isAll ? [] : accounts.map(({ id }) => id)))}
      />
    ),
    cell: ({ id, name }) => (
      <input
        type="checkbox"
        aria-label={`Select ${name}`}
        checked={ids.has(id)}
        onChange={() => onSelect(toggled(ids, id))}
      />
    ),
  };
}

function toggled(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(ids);
  if (!next.delete(id)) next.add(id);
  return next;
}

const BulkDialog = later<BulkProps>('the change', async () => (await import('./bulk-dialog.tsx')).BulkDialog);

interface BulkBarProps extends TableProps {
  readonly selected: readonly Account[];
  readonly onSelect: (ids: ReadonlySet<string>) => void;
}

/** What can be done with the selected accounts. */
function BulkBar({ accounts, selected, mayChange, onSelect, onChanged }: BulkBarProps) {
  const [action, setAction] = useState<BulkAction>();
  const status = useRef<HTMLSpanElement>(null);
  const count = selected.length;
  const exportAll = async () => (await loadCode(() => import('./accounts-csv.ts'))).saveAccounts(selected);
  return (
    <section class="buttons bulk" aria-label="Selected accounts">
      <span ref={status} tabIndex={-1} role="status" class={count === 0 ? 'quiet' : undefined}>
        {count === 0 ? 'Select accounts to change or save them.' : `${count} of ${accounts.length} selected`}
      </span>
      {count > 0 && (
        <>
          {mayChange && (
            <>
              <button type="button" onClick={() => setAction('plan')}>
                Plan
              </button>
              <button type="button" onClick={() => setAction('limits')}>
                Limits
              </button>
            </>
          )}
          <button type="button" onClick={() => void exportAll()}>
            Save as CSV
          </button>
        </>
      )}
      {action !== undefined && (
        <BulkDialog
          action={action}
          accounts={selected}
          onClose={(rest) => {
            setAction(undefined);
            if (rest === undefined) return;
            onSelect(new Set(rest.map(({ id }) => id)));
            // The button that opened the dialog is gone.
            if (rest.length === 0) requestAnimationFrame(() => status.current?.focus());
            onChanged();
          }}
        />
      )}
    </section>
  );
}

const columns: readonly DataColumn<Account>[] = [
  {
    title: 'Name',
    form: 'row',
    cell: ({ id, name, suspendedAt }) => (
      <>
        <a class="name" title={name} href={`/console/accounts/${id}`}>
          {name}
        </a>{' '}
        {suspendedAt !== undefined && <span class="badge refused">suspended</span>}
      </>
    ),
  },
  {
    title: 'Plan',
    rank: 2,
    isSecond: true,
    cell: ({ subscription }) => (
      <span class={`badge ${isOpen(subscription?.state) ? 'ok' : ''}`}>{subscription?.state}</span>
    ),
  },
  {
    title: 'Credits',
    form: 'right',
    cell: ({ balanceNanoCredits }) => <Credits nano={balanceNanoCredits} />,
  },
  {
    title: 'Fair use',
    form: 'right',
    rank: 4,
    cell: ({ fairUse }) =>
      fairUse && fairUse.limitUnits > 0n
        ? percentText(Number(fairUse.usedUnits) / Number(fairUse.limitUnits))
        : '–',
  },
  {
    title: 'Last used',
    rank: 3,
    isSecond: 'titled',
    cell: ({ lastUsedAt }) => (lastUsedAt ? <Day at={lastUsedAt} /> : 'never'),
  },
  { title: 'Made', rank: 5, cell: ({ createdAt }) => createdAt && <Day at={createdAt} /> },
];

const isOpen = (state: string | undefined) => state === 'active' || state === 'trial';
