import type { NodeState } from '../../../../gen/parley/admin/v1/admin_pb.ts';
import { admin } from '../../api.ts';
import { durationText, Time } from '../../format.tsx';
import { Empty, Show, useLoaded } from '../../states.tsx';
import { type DataColumn, DataTable } from '../../table/data-table.tsx';

/** The servers that share a PostgreSQL database. */
export function Nodes() {
  const nodes = useLoaded('nodes', async (signal) => (await admin.listNodes({}, { signal })).nodes);
  return (
    <section class="card">
      <div class="title">
        <h2>Servers of this database</h2>
        <button type="button" onClick={nodes.reload}>
          Reload
        </button>
      </div>
      <Show of={nodes} what="the servers">
        {(value) =>
          value.length === 0 ? (
            <Empty title="No server has served a request yet." />
          ) : (
            <NodeTable nodes={value} />
          )
        }
      </Show>
    </section>
  );
}

const badges: Readonly<Record<string, string>> = { alive: 'ok', late: 'refused', dead: 'failed' };

const columns: readonly DataColumn<NodeState>[] = [
  {
    title: 'Name',
    form: 'row',
    order: ({ name }) => name,
    cell: ({ name, answers }) => (
      <>
        {name} {answers && <span class="badge ok">this one</span>}
      </>
    ),
  },
  { title: 'Version', order: ({ version }) => version, cell: ({ version }) => version },
  {
    title: 'State',
    order: ({ state }) => state,
    cell: ({ state }) => <span class={`badge ${badges[state] ?? ''}`}>{state}</span>,
  },
  {
    title: 'Lease ends',
    rank: 1,
    order: ({ leaseEndsAt }) => leaseEndsAt?.seconds,
    cell: ({ leaseEndsAt }) => <Time at={leaseEndsAt} />,
  },
  {
    title: 'Late by',
    form: 'right',
    order: ({ lateMs }) => lateMs,
    cell: ({ lateMs }) => (lateMs === 0n ? '–' : durationText(Number(lateMs))),
  },
];

function NodeTable({ nodes }: { readonly nodes: readonly NodeState[] }) {
  const versions = new Set(nodes.filter(({ state }) => state === 'alive').map(({ version }) => version));
  return (
    <>
      <DataTable
        label="Servers of this database"
        columns={columns}
        rows={nodes}
        keyOf={({ name, leaseEndsAt }) => `${name} ${leaseEndsAt?.seconds}`}
      />
      {versions.size > 1 && (
        <p class="quiet">The servers run different versions. Upgrade all of them to the newest one soon.</p>
      )}
    </>
  );
}
