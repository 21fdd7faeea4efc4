/** The ledger of an account, newest first, a page at a time. */

import type { LedgerEntry } from '../../gen/parley/account/v1/account_pb.ts';
import { placesOf } from './credits.ts';
import { Credits, Time } from './format.tsx';
import { Paged, type PageOf } from './paged.tsx';
import { Empty, Show, useLoaded } from './states.tsx';
import { type DataColumn, DataTable } from './table/data-table.tsx';

interface Request {
  readonly pageSize: number;
  readonly pageToken?: string;
}

interface Props {
  /** Changes when the ledger must be reloaded. */
  readonly turn: string;
  readonly read: (
    request: Request,
    signal: AbortSignal,
  ) => Promise<{ readonly entries: LedgerEntry[]; readonly nextPageToken?: string | undefined }>;
}

const pageSize = 50;
const pageMsMax = 60_000;

export function LedgerTable({ turn, read }: Props) {
  const readPage = async (request: Request, signal: AbortSignal): Promise<PageOf<LedgerEntry>> => {
    const { entries, nextPageToken } = await read(request, signal);
    return { items: entries, next: nextPageToken };
  };
  const first = useLoaded(turn, (signal) => readPage({ pageSize }, signal));
  return (
    <Show of={first} what="the ledger">
      {(page) => (
        <Paged
          first={page}
          readMore={(pageToken) => readPage({ pageSize, pageToken }, AbortSignal.timeout(pageMsMax))}
        >
          {(entries) => <Entries entries={entries} />}
        </Paged>
      )}
    </Show>
  );
}

function Entries({ entries }: { readonly entries: readonly LedgerEntry[] }) {
  if (entries.length === 0) {
    return (
      <Empty title="The ledger is empty.">
        <p>Loads, debits of chats and adjustments appear here. They are never changed or removed.</p>
      </Empty>
    );
  }
  return (
    <DataTable
      id="ledger"
      label="Ledger"
      columns={columnsOf(entries)}
      rows={entries}
      keyOf={({ id }) => id}
    />
  );
}

const columnsOf = (entries: readonly LedgerEntry[]): readonly DataColumn<LedgerEntry>[] => [
  { title: 'Time', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: 'Kind', rank: 1, isSecond: true, cell: ({ kind }) => <span class={`badge ${kind}`}>{kind}</span> },
  {
    title: 'Reason',
    rank: 2,
    isSecond: true,
    cell: ({ reason }) => (
      <span class="name" title={reason}>
        {reason}
      </span>
    ),
  },
  { title: 'Reference', rank: 3, cell: referenceOf },
  {
    title: 'Credits',
    form: 'right',
    cell: ({ amountNanoCredits }) => (
      <span class={amountNanoCredits < 0n ? '' : 'good'}>
        {amountNanoCredits > 0n && '+'}
        <Credits
          nano={amountNanoCredits}
          places={placesOf(entries.map((entry) => entry.amountNanoCredits))}
        />
      </span>
    ),
  },
];

function referenceOf({ kind, reference }: LedgerEntry) {
  if (kind !== 'debit') return <code class="name">{reference}</code>;
  return (
    <a href={`/console/usage?id=${reference}`}>
      <code>{reference.slice(0, 16)}…</code>
    </a>
  );
}
