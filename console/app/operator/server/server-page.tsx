/** The running server: engines, models, servers beside it, findings, settings. */

import { useState } from 'preact/hooks';
import type { GetServerStateResponse, ModelState } from '../../../../gen/parley/admin/v1/admin_pb.ts';
import { admin } from '../../api.ts';
import { SearchField } from '../../fields.tsx';
import { Time } from '../../format.tsx';
import { Scroll } from '../../scroll.tsx';
import { mayDo, type SignedIn } from '../../session.ts';
import { Show, useLoaded } from '../../states.tsx';
import { type DataColumn, DataTable } from '../../table/data-table.tsx';
import { TableHead } from '../../table-head.tsx';
import { ConfigurationFile } from './configuration-file.tsx';
import { Engines } from './engines.tsx';
import { Entries } from './entries.tsx';
import { Findings } from './findings.tsx';
import { NewEngineDialog } from './new-engine.tsx';
import { Nodes } from './nodes.tsx';

export function ServerPage({ session }: { readonly session: SignedIn }) {
  const [isTrying, setTrying] = useState(false);
  const server = useLoaded('server', (signal) => admin.getServerState({}, { signal }));
  const mayChange = mayDo(session, 'configuration');
  const file = useLoaded(`configuration ${mayChange}`, async (signal) =>
    mayChange ? admin.getConfiguration({}, { signal }) : undefined,
  );
  const reload = () => {
    server.reload();
    file.reload();
  };
  return (
    <>
      <div class="title">
        <h1>Server</h1>
        {mayDo(session, 'server') && (
          <button type="button" onClick={() => setTrying(true)}>
            Try a server
          </button>
        )}
        <button type="button" onClick={reload}>
          Reload
        </button>
      </div>
      {isTrying && (
        <NewEngineDialog
          file={file.value}
          onSaved={() => {
            setTrying(false);
            reload();
          }}
          onClose={() => setTrying(false)}
        />
      )}
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
            <Models state={state} />
            {mayChange && (
              <Show of={file} what="the configuration file">
                {(shown) => shown && <Entries of={shown} onSaved={reload} />}
              </Show>
            )}
            <Findings />
            <Settings settings={state.settings} />
          </>
        )}
      </Show>
    </>
  );
}

function pricesText({ inputPrice, cachedInputPrice, cacheWritePrice, outputPrice }: ModelState): string {
  if (inputPrice === undefined) return '–';
  const cached = cachedInputPrice === undefined ? [] : [`${cachedInputPrice} cached`];
  const written = cacheWritePrice === undefined ? [] : [`${cacheWritePrice} written to the cache`];
  return [`${inputPrice} in`, ...cached, ...written, `${outputPrice} out`].join(', ');
}

const modelColumns: readonly DataColumn<ModelState>[] = [
  { title: 'Id', form: 'row', order: ({ id }) => id, cell: ({ id }) => id },
  { title: 'Type', order: ({ type }) => type, cell: ({ type }) => type },
  { title: 'Engines', form: 'wrap', rank: 2, cell: ({ engines }) => engines.join(', then ') },
  { title: 'Falls back to', form: 'wrap', rank: 3, cell: ({ fallback }) => fallback.join(', then ') || '–' },
  {
    title: 'State',
    form: 'wrap',
    order: ({ available }) => String(available),
    cell: ({ available, disabled, reason }) => (
      <span class={`badge ${available ? 'ok' : disabled ? '' : 'failed'}`}>
        {available ? 'available' : disabled ? 'disabled' : reason}
      </span>
    ),
  },
  {
    title: 'Credits per million tokens',
    form: 'right',
    rank: 1,
    isSecond: true,
    order: ({ inputPrice }) => inputPrice && Number(inputPrice),
    cell: pricesText,
  },
];

function Models({ state: { models } }: { readonly state: GetServerStateResponse }) {
  return (
    <section class="card">
      <h2>Models</h2>
      <DataTable
        id="server-models"
        label="Models"
        columns={modelColumns}
        rows={models}
        keyOf={({ id }) => id}
      />
    </section>
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
