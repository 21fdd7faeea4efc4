/** Every change by an administrator, newest first. */

import type { AuditEntry } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { admin } from '../api.ts';
import { Time } from '../format.tsx';
import { Paged, type PageOf } from '../paged.tsx';
import { mayDo, type SignedIn } from '../session.ts';
import { Empty, Show, useLoaded } from '../states.tsx';
import { type DataColumn, DataTable } from '../table/data-table.tsx';
import { useNamesOf } from '../usage/names.ts';

const pageSize = 50;

async function readPage(pageToken: string | undefined, signal?: AbortSignal): Promise<PageOf<AuditEntry>> {
  const request = { pageSize, ...(pageToken !== undefined && { pageToken }) };
  const { entries, nextPageToken } = await admin.listAuditEntries(request, signal ? { signal } : {});
  return { items: entries, next: nextPageToken };
}

export function AuditPage({ session }: { readonly session: SignedIn }) {
  const first = useLoaded('audit', (signal) => readPage(undefined, signal));
  return (
    <>
      <h1>Audit</h1>
      <section class="card">
        <p class="quiet">Every change by an administrator, here, over the API or on the command line.</p>
        <Show of={first} what="the audit trail">
          {(page) => (
            <Paged first={page} readMore={readPage}>
              {(entries) => <Entries session={session} entries={entries} />}
            </Paged>
          )}
        </Show>
      </section>
    </>
  );
}

interface EntriesProps {
  readonly session: SignedIn;
  readonly entries: readonly AuditEntry[];
}

function Entries({ session, entries }: EntriesProps) {
  const ids = entries.flatMap(({ actor, target }) => [actor, target]).filter((text) => isId.test(text));
  const names = useNamesOf(session, mayDo(session, 'usage:read') ? ids : []);
  if (entries.length === 0) return <Empty title="Nothing has been changed yet." />;
  const columns: readonly DataColumn<AuditEntry>[] = [
    { title: 'Time', cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: 'Action', cell: ({ action }) => action },
    {
      title: 'By',
      rank: 2,
      isSecond: true,
      cell: ({ actor }) => <Id text={actor} name={names.get(actor)} />,
    },
    {
      title: 'On',
      rank: 1,
      isSecond: true,
      cell: ({ target }) => <Id text={target} name={names.get(target)} />,
    },
    { title: 'Details', form: 'wrap', rank: 3, cell: ({ details }) => detailsText(details) },
  ];
  return (
    <DataTable
      id="audit"
      label="Audit trail"
      columns={columns}
      rows={entries}
      keyOf={({ id }) => id}
      contents={names.size}
    />
  );
}

const isId = /^[a-z]{3}_[0-9a-f]{32}$/;

function Id({ text, name }: { readonly text: string; readonly name: string | undefined }) {
  const short = isId.test(text) ? `${text.slice(0, 4)}…${text.slice(-6)}` : text;
  const shown = name === undefined || name === text ? <code>{short}</code> : name;
  const id = (
    <span class="name" title={text}>
      {shown}
    </span>
  );
  return text.startsWith('acc_') ? <a href={`/console/accounts/${text}`}>{id}</a> : id;
}

function detailsText(details: string): string {
  const members = Object.entries(JSON.parse(details) as Record<string, unknown>);
  return members
    .filter(([, value]) => value !== '' && value !== null && !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') : value}`)
    .join('; ');
}
