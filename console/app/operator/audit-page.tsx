/** Every change by an administrator, newest first. */

import type { AuditEntry } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { admin } from '../api.ts';
import { Time } from '../format.tsx';
import { Paged, type PageOf } from '../paged.tsx';
import { Scroll } from '../scroll.tsx';
import { Empty, Show, useLoaded } from '../states.tsx';
import { TableHead } from '../table-head.tsx';

const pageSize = 50;

async function readPage(pageToken: string | undefined, signal?: AbortSignal): Promise<PageOf<AuditEntry>> {
  const request = { pageSize, ...(pageToken !== undefined && { pageToken }) };
  const { entries, nextPageToken } = await admin.listAuditEntries(request, signal ? { signal } : {});
  return { items: entries, next: nextPageToken };
}

export function AuditPage() {
  const first = useLoaded('audit', (signal) => readPage(undefined, signal));
  return (
    <>
      <h1>Audit</h1>
      <section class="card">
        <p class="quiet">Every change by an administrator, here, over the API or on the command line.</p>
        <Show of={first} what="the audit trail">
          {(page) => (
            <Paged first={page} readMore={readPage}>
              {(entries) => <Entries entries={entries} />}
            </Paged>
          )}
        </Show>
      </section>
    </>
  );
}

function Entries({ entries }: { readonly entries: readonly AuditEntry[] }) {
  if (entries.length === 0) return <Empty title="Nothing has been changed yet." />;
  return (
    <Scroll label="Audit trail">
      <table class="rows">
        <TableHead columns={['Time', 'Action', 'By', 'On', 'Details']} />
        <tbody>
          {entries.map(({ id, createdAt, action, actor, target, details }) => (
            <tr key={id}>
              <td>
                <Time at={createdAt} />
              </td>
              <td>{action}</td>
              <td>
                <Id text={actor} />
              </td>
              <td>
                <Id text={target} />
              </td>
              <td class="wrap">{detailsText(details)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Id({ text }: { readonly text: string }) {
  const shown = /^[a-z]{3}_[0-9a-f]{32}$/.test(text) ? `${text.slice(0, 4)}…${text.slice(-6)}` : text;
  const id = <code title={text}>{shown}</code>;
  return text.startsWith('acc_') ? <a href={`/console/accounts/${text}`}>{id}</a> : id;
}

function detailsText(details: string): string {
  const members = Object.entries(JSON.parse(details) as Record<string, unknown>);
  return members
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') : value}`)
    .join('; ');
}
