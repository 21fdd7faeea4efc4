import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { NodeState } from '../../../../gen/parley/admin/v1/admin_pb.ts';
import { admin } from '../../api.ts';
import { durationText, Time } from '../../format.tsx';
import { Scroll } from '../../scroll.tsx';
import { Empty, Show, useLoaded } from '../../states.tsx';
import { TableHead } from '../../table-head.tsx';

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

function NodeTable({ nodes }: { readonly nodes: readonly NodeState[] }) {
  const versions = new Set(nodes.filter(({ state }) => state === 'alive').map(({ version }) => version));
  return (
    <>
      <Scroll label="Servers of this database">
        <table class="rows">
          <TableHead columns={['Name', 'Version', 'State', 'Lease ends', ['Late by', 'right']]} />
          <tbody>
            {nodes.map(({ name, version, state, leaseEndsAt, lateMs, answers }) => (
              <tr key={`${name} ${leaseEndsAt?.seconds}`}>
                <th scope="row">
                  {name} {answers && <span class="badge ok">this one</span>}
                </th>
                <td>{version}</td>
                <td>
                  <span class={`badge ${badges[state] ?? ''}`}>{state}</span>
                </td>
                <td>
                  <Time at={leaseEndsAt && timestampDate(leaseEndsAt)} />
                </td>
                <td class="right">{lateMs === 0n ? '–' : durationText(Number(lateMs))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {versions.size > 1 && (
        <p class="quiet">The servers run different versions. Upgrade all of them to the newest one soon.</p>
      )}
    </>
  );
}
