import { account } from '../api.ts';
import { LedgerTable } from '../ledger-table.tsx';
import { LimitsCard } from '../limits/limit-meters.tsx';
import { CreditsCard } from '../meters.tsx';
import { Show, useLoaded } from '../states.tsx';

export function CreditsPage() {
  const own = useLoaded('account', async (signal) => (await account.getAccount({}, { signal })).account);
  return (
    <>
      <h1>Credits</h1>
      <Show of={own} what="the balance">
        {(value) =>
          value && (
            <div class="cards">
              <CreditsCard account={value} />
              <LimitsCard title="Limits of your account" owner={value} />
            </div>
          )
        }
      </Show>
      <section class="card">
        <h2>Ledger</h2>
        <p class="quiet">
          Every load, debit and adjustment. The balance is their sum.{' '}
          <a href="/console/credits/statement">Statement of a month</a>
        </p>
        <LedgerTable turn="own" read={(page, signal) => account.listLedgerEntries(page, { signal })} />
      </section>
    </>
  );
}
