/** The models of the server, and the entries of parley.yaml that make them. */
import { useState } from 'preact/hooks';
import type { ModelState } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { admin } from '../api.ts';
import { mayDo, type SignedIn } from '../session.ts';
import { Show, useLoaded } from '../states.tsx';
import { type DataColumn, DataTable } from '../table/data-table.tsx';
import { Entries } from './server/entries.tsx';
import { NewEngineDialog } from './server/new-engine.tsx';

export function ModelsPage({ session }: { readonly session: SignedIn }) {
  const [isTrying, setTrying] = useState(false);
  const server = useLoaded('server', (signal) => admin.getServerState({}, { signal }));
  const mayChange = mayDo(session, 'configuration');
  const file = useLoaded(`configuration ${mayChange}`, async (signal) =>
    mayChange ? admin.getConfiguration({}, { signal }) : undefined,
  );
  const saved = () => {
    setTrying(false);
    server.reload();
    file.reload();
  };
  return (
    <>
      <div class="title">
        <h1>Models</h1>
        {mayDo(session, 'server') && (
          <button type="button" class="primary" onClick={() => setTrying(true)}>
            Try a server
          </button>
        )}
      </div>
      {isTrying && <NewEngineDialog file={file.value} onSaved={saved} onClose={() => setTrying(false)} />}
      <Show of={server} what="the models">
        {({ models }) => (
          <section class="card">
            <DataTable
              id="server-models"
              label="Models"
              columns={columns}
              rows={models}
              keyOf={({ id }) => id}
            />
          </section>
        )}
      </Show>
      {mayChange && (
        <Show of={file} what="the configuration file">
          {(shown) => shown && <Entries of={shown} onSaved={saved} />}
        </Show>
      )}
    </>
  );
}

function pricesText({ inputPrice, cachedInputPrice, cacheWritePrice, outputPrice }: ModelState): string {
  if (inputPrice === undefined) return '–';
  const cached = cachedInputPrice === undefined ? [] : [`${cachedInputPrice} cached`];
  const written = cacheWritePrice === undefined ? [] : [`${cacheWritePrice} written to the cache`];
  return [`${inputPrice} in`, ...cached, ...written, `${outputPrice} out`].join(', ');
}

const columns: readonly DataColumn<ModelState>[] = [
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
