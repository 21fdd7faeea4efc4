/** The credits of an account in a month, to print. */
import { useId } from 'preact/hooks';
import type { Statement, StatementLine } from '../../gen/parley/account/v1/account_pb.ts';
import { account, admin } from './api.ts';
import { exactCredits } from './credits.ts';
import { useQuery } from './router.ts';
import { Scroll } from './scroll.tsx';
import type { SignedIn } from './session.ts';
import { Show, useLoaded } from './states.tsx';
import { TableHead } from './table-head.tsx';
import { useKeyNames } from './usage/names.ts';

export function OwnStatementPage({ session }: { readonly session: SignedIn }) {
  return <Page client={account} of="" back="/console/credits" session={session} />;
}

export function StatementPage({ id, session }: { readonly id: string; readonly session: SignedIn }) {
  return <Page client={admin} of={id} back={`/console/accounts/${id}`} session={session} />;
}

interface PageProps {
  readonly client: Pick<typeof account, 'getStatement'>;
  /** The account, for operators. */
  readonly of: string;
  readonly back: string;
  readonly session: SignedIn;
}

function Page({ client, of, back, session }: PageProps) {
  const field = useId();
  const thisMonth = new Date().toISOString().slice(0, 7);
  const [chosen, choose] = useQuery('month');
  const month = chosen || thisMonth;
  const request = { month, ...(of !== '' && { accountId: of }) };
  const statement = useLoaded(
    `statement ${of} ${month}`,
    async (signal) => (await client.getStatement(request, { signal })).statement,
  );
  const names = useKeyNames(session, of);
  return (
    <>
      <p class="crumbs">
        <a href={back}>Back</a>
      </p>
      <h1>Statement {month}</h1>
      <div class="filters">
        <span class="choice">
          <label for={field}>Month (UTC)</label>
          <input
            id={field}
            type="month"
            value={month}
            max={thisMonth}
            onChange={({ currentTarget }) => choose(currentTarget.value)}
          />
        </span>
        <button type="button" onClick={() => print()}>
          Print
        </button>
      </div>
      <Show of={statement} what="the statement">
        {(value) => value && <Sheet of={value} names={names} />}
      </Show>
    </>
  );
}

interface SheetProps {
  readonly of: Statement;
  readonly names: ReadonlyMap<string, string>;
}

function Sheet({ of, names }: SheetProps) {
  const { accountName, accountId, isFinal, openingNanoCredits, closingNanoCredits, lines } = of;
  return (
    <section class="card">
      <h2>{accountName}</h2>
      <p class="quiet">
        <code>{accountId}</code>
        {!isFinal && '. The month has not ended.'}
      </p>
      <Scroll label="Statement">
        <table class="rows">
          <TableHead columns={['Kind', 'Model', 'Key', ['Entries', 'right'], ['Credits', 'right']]} />
          <tbody>
            <Balance name="Opening balance" nano={openingNanoCredits} />
            {lines.map((line) => (
              <Line key={`${line.kind} ${line.model} ${line.keyId}`} of={line} names={names} />
            ))}
            <Balance name="Closing balance" nano={closingNanoCredits} />
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

function Line({ of, names }: { readonly of: StatementLine; readonly names: SheetProps['names'] }) {
  const { kind, model, keyId, entries, amountNanoCredits } = of;
  return (
    <tr>
      <td>{kind}</td>
      <td>{model}</td>
      <td>{keyId !== undefined && (names.get(keyId) ?? <code>{keyId}</code>)}</td>
      <td class="right">{String(entries)}</td>
      <td class="right">{exactCredits(amountNanoCredits)}</td>
    </tr>
  );
}

function Balance({ name, nano }: { readonly name: string; readonly nano: bigint }) {
  return (
    <tr>
      <th scope="row" colSpan={4}>
        {name}
      </th>
      <td class="right">
        <strong>{exactCredits(nano)}</strong>
      </td>
    </tr>
  );
}
