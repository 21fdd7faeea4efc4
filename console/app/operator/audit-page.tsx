/** Every change by an administrator, newest first. */

import { timestampDate, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { useState } from 'preact/hooks';
import type { AuditEntry } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { admin, failureOf } from '../api.ts';
import { csvLine, save } from '../csv.ts';
import { SearchField } from '../fields.tsx';
import { dayMs, Time } from '../format.tsx';
import { Paged, type PageOf } from '../paged.tsx';
import { useQuery } from '../router.ts';
import { mayDo, type SignedIn } from '../session.ts';
import { Empty, Show, useLoaded } from '../states.tsx';
import { type DataColumn, DataTable } from '../table/data-table.tsx';
import { useNamesOf } from '../usage/names.ts';
import { DayField } from '../usage/period-choice.tsx';

const pageSize = 50;

/** Texts of the address; empty ones do not filter. Days are in UTC, the last one included. */
interface Filter {
  readonly search: string;
  readonly actor: string;
  readonly from: string;
  readonly to: string;
}

const dayStart = (day: string, days = 0) => timestampFromMs(Date.parse(day) + days * dayMs);

async function readPage(
  { search, actor, from, to }: Filter,
  { pageToken, size = pageSize }: { readonly pageToken?: string | undefined; readonly size?: number } = {},
  signal?: AbortSignal,
): Promise<PageOf<AuditEntry>> {
  const request = {
    pageSize: size,
    ...(pageToken !== undefined && { pageToken }),
    ...(search !== '' && { search }),
    ...(actor !== '' && { actor }),
    ...(from !== '' && { startTime: dayStart(from) }),
    ...(to !== '' && { endTime: dayStart(to, 1) }),
  };
  const { entries, nextPageToken } = await admin.listAuditEntries(request, signal ? { signal } : {});
  return { items: entries, next: nextPageToken };
}

export function AuditPage({ session }: { readonly session: SignedIn }) {
  const [search, setSearch] = useQuery('search');
  const [actor, setActor] = useQuery('by');
  const [from, setFrom] = useQuery('from');
  const [to, setTo] = useQuery('to');
  const filter = { search: search.trim(), actor, from, to };
  const first = useLoaded(`audit ${JSON.stringify(filter)}`, (signal) => readPage(filter, {}, signal));
  return (
    <>
      <h1>Audit</h1>
      <section class="card">
        <p class="quiet">Every change by an administrator, here, over the API or on the command line.</p>
        <search>
          <div class="filters">
            <SearchField
              label="Search"
              placeholder="Find in the audit trail"
              value={search}
              onChange={setSearch}
            />
            <DayField label="From" value={from} mayBeEmpty onChange={setFrom} />
            <DayField label="To (UTC)" value={to} mayBeEmpty onChange={setTo} />
            {actor !== '' && (
              <button type="button" onClick={() => setActor('')}>
                Changes by all
              </button>
            )}
            <SaveButton filter={filter} />
          </div>
        </search>
        <Show of={first} what="the audit trail">
          {(page) => (
            <Paged first={page} readMore={(pageToken) => readPage(filter, { pageToken })}>
              {(entries, isAll) => (
                <Entries
                  session={session}
                  entries={entries}
                  isAll={isAll}
                  none={
                    !isAll
                      ? 'No change matches among the newest. Load more to search on.'
                      : Object.values(filter).some((text) => text !== '')
                        ? 'No change matches.'
                        : 'Nothing has been changed yet.'
                  }
                  onActor={setActor}
                />
              )}
            </Paged>
          )}
        </Show>
      </section>
    </>
  );
}

/** Saves all entries of a filter as CSV, as they are and not as the table shortens them. */
function SaveButton({ filter }: { readonly filter: Filter }) {
  const [state, setState] = useState<string>();
  const run = async () => {
    const lines = [csvLine(['id', 'created_at', 'actor', 'action', 'target', 'details'])];
    try {
      let pageToken: string | undefined;
      do {
        const page = await readPage(filter, { pageToken, size: 1_000 });
        lines.push(...page.items.map(lineOf));
        setState(`${lines.length - 1} entries read`);
        pageToken = page.next;
      } while (pageToken !== undefined);
      save('parley-audit.csv', 'text/csv', lines);
      setState(undefined);
    } catch (error) {
      setState(failureOf(error).message);
    }
  };
  return (
    <>
      <button type="button" onClick={run}>
        Save as CSV
      </button>
      <span role="status" class="quiet">
        {state}
      </span>
    </>
  );
}

function lineOf({ id, createdAt, actor, action, target, details }: AuditEntry): string {
  const time = createdAt === undefined ? '' : timestampDate(createdAt).toISOString();
  return csvLine([id, time, actor, action, target, details]);
}

interface EntriesProps {
  readonly session: SignedIn;
  readonly entries: readonly AuditEntry[];
  readonly isAll: boolean;
  /** Says that there are none. */
  readonly none: string;
  readonly onActor: (actor: string) => void;
}

function Entries({ session, entries, isAll, none, onActor }: EntriesProps) {
  const ids = entries.flatMap(({ actor, target }) => [actor, target]).filter((text) => isId.test(text));
  const names = useNamesOf(session, mayDo(session, 'usage:read') ? ids : []);
  if (entries.length === 0) return <Empty title={none} />;
  const columns: readonly DataColumn<AuditEntry>[] = [
    {
      title: 'Time',
      order: ({ createdAt }) => createdAt && timestampMs(createdAt),
      cell: ({ createdAt }) => <Time at={createdAt} />,
    },
    { title: 'Action', order: ({ action }) => action, cell: ({ action }) => action },
    {
      title: 'By',
      rank: 2,
      order: ({ actor }) => names.get(actor) ?? actor,
      isSecond: true,
      cell: ({ actor }) => (
        <button type="button" class="link" onClick={() => onActor(actor)}>
          <Id text={actor} name={names.get(actor)} />
        </button>
      ),
    },
    {
      title: 'On',
      rank: 1,
      order: ({ target }) => names.get(target) ?? target,
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
      isPart={!isAll}
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
