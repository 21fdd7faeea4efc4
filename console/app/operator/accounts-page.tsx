/** All accounts, found by a part of their name. */

import { useState } from 'preact/hooks';
import type { Account } from '../../../gen/parley/account/v1/account_pb.ts';
import { admin } from '../api.ts';
import { CallForm, Dialog } from '../dialog.tsx';
import { Field } from '../fields.tsx';
import { Credits, Day, percentText } from '../format.tsx';
import { Paged, type PageOf } from '../paged.tsx';
import { navigate, useQuery } from '../router.ts';
import { Scroll } from '../scroll.tsx';
import { Empty, Show, useLoaded } from '../states.tsx';
import { TableHead } from '../table-head.tsx';

const pageSize = 50;

async function readPage(name: string, pageToken?: string, signal?: AbortSignal): Promise<PageOf<Account>> {
  const wanted = name === '' ? {} : { nameContains: name };
  const request = { pageSize, ...wanted, ...(pageToken !== undefined && { pageToken }) };
  const { accounts, nextPageToken } = await admin.listAccounts(request, signal ? { signal } : {});
  return { items: accounts, next: nextPageToken };
}

export function AccountsPage() {
  const [name, setName] = useQuery('name');
  const [isMaking, setMaking] = useState(false);
  const wanted = name.trim();
  const first = useLoaded(`accounts ${wanted}`, (signal) => readPage(wanted, undefined, signal));
  return (
    <>
      <div class="title">
        <h1>Accounts</h1>
        <button type="button" class="primary" onClick={() => setMaking(true)}>
          New account
        </button>
      </div>
      <section class="card">
        <search>
          <label class="unseen" for="account-name">
            Name
          </label>
          <input
            id="account-name"
            type="search"
            placeholder="Find by name"
            autocomplete="off"
            maxLength={100}
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </search>
        <Show of={first} what="the accounts">
          {(page) => (
            <Paged first={page} readMore={(token) => readPage(wanted, token)}>
              {(accounts) => <AccountTable accounts={accounts} isFiltered={wanted !== ''} />}
            </Paged>
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

interface TableProps {
  readonly accounts: readonly Account[];
  readonly isFiltered: boolean;
}

function AccountTable({ accounts, isFiltered }: TableProps) {
  if (accounts.length === 0) {
    return (
      <Empty title={isFiltered ? 'No account name contains this text.' : 'There are no accounts yet.'} />
    );
  }
  return (
    <Scroll label="Accounts">
      <table class="rows">
        <TableHead columns={['Name', 'Plan', ['Credits', 'right'], ['Fair use', 'right'], 'Made']} />
        <tbody>
          {accounts.map(({ id, name, suspendedAt, subscription, balanceNanoCredits, fairUse, createdAt }) => (
            <tr key={id}>
              <th scope="row">
                <a href={`/console/accounts/${id}`}>{name}</a>{' '}
                {suspendedAt !== undefined && <span class="badge refused">suspended</span>}
              </th>
              <td>
                <span class={`badge ${isOpen(subscription?.state) ? 'ok' : ''}`}>{subscription?.state}</span>
              </td>
              <td class="right">
                <Credits nano={balanceNanoCredits} />
              </td>
              <td class="right">
                {fairUse && fairUse.limitUnits > 0n
                  ? percentText(Number(fairUse.usedUnits) / Number(fairUse.limitUnits))
                  : '–'}
              </td>
              <td>{createdAt && <Day at={createdAt} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

const isOpen = (state: string | undefined) => state === 'active' || state === 'trial';
