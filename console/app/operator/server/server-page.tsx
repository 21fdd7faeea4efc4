/** The running server: engines, servers beside it, findings, settings. */

import { useState } from 'preact/hooks';
import type { GetServerStateResponse } from '../../../../gen/parley/admin/v1/admin_pb.ts';
import { admin } from '../../api.ts';
import { SearchField } from '../../fields.tsx';
import { Time } from '../../format.tsx';
import { Scroll } from '../../scroll.tsx';
import { mayDo, type SignedIn } from '../../session.ts';
import { Show, useLoaded } from '../../states.tsx';
import { TableHead } from '../../table-head.tsx';
import { ConfigurationFile } from './configuration-file.tsx';
import { Engines } from './engines.tsx';
import { Findings } from './findings.tsx';
import { Nodes } from './nodes.tsx';

export function ServerPage({ session }: { readonly session: SignedIn }) {
  const server = useLoaded('server', (signal) => admin.getServerState({}, { signal }));
  return (
    <>
      <div class="title">
        <h1>Server</h1>
        <button type="button" onClick={server.reload}>
          Reload
        </button>
      </div>
      <Show of={server} what="the server">
        {(state) => (
          <>
            <p class="quiet">
              Parley {state.version}, started <Time at={state.startedAt} />
            </p>
            <ConfigurationFile of={state.configurationFile} />
            <Engines state={state} isReadOnly={!mayDo(session, 'server')} onChanged={server.reload} />
            {state.settings.some(({ name, value }) => name === 'store.kind' && value === 'postgres') && (
              <Nodes />
            )}
            <Findings />
            <Settings settings={state.settings} />
          </>
        )}
      </Show>
    </>
  );
}

function Settings({ settings }: Pick<GetServerStateResponse, 'settings'>) {
  const [query, setQuery] = useState('');
  const shown = settings.filter(({ name, value }) =>
    `${name} ${value}`.toLowerCase().includes(query.toLowerCase()),
  );
  return (
    <section class="card">
      <div class="title">
        <h2>Settings</h2>
        <search>
          <SearchField label="Setting" placeholder="Find a setting" value={query} onChange={setQuery} />
        </search>
      </div>
      <p class="quiet">
        The values in use, including defaults. <code>parley config show</code> also shows where each comes
        from.
      </p>
      <Scroll label="Settings" isTall>
        <table class="rows">
          <TableHead columns={['Setting', 'Value']} />
          <tbody>
            {shown.map(({ name, value }) => (
              <tr key={name}>
                <th scope="row">
                  <code>{name}</code>
                </th>
                <td>{value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
