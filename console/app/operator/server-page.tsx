/** The running server: engines, models, findings, settings. */

import { useState } from 'preact/hooks';
import type { Diagnostic, GetServerStateResponse } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { admin, failureOf } from '../api.ts';
import { Time, wholeText } from '../format.tsx';
import { Scroll } from '../scroll.tsx';
import { Show, useLoaded } from '../states.tsx';
import { TableHead } from '../table-head.tsx';

export function ServerPage() {
  const server = useLoaded('server', (signal) => admin.getServerState({}, { signal }));
  return (
    <>
      <div class="title">
        <h1>Server</h1>
        <button type="button" onClick={server.reload}>
          Read again
        </button>
      </div>
      <Show of={server} what="the server">
        {(state) => (
          <>
            <p class="quiet">
              Parley {state.version}, started <Time at={state.startedAt} />
            </p>
            <Engines state={state} />
            <Models state={state} />
            <Findings />
            <Settings settings={state.settings} />
          </>
        )}
      </Show>
    </>
  );
}

function Engines({ state: { engines } }: { readonly state: GetServerStateResponse }) {
  return (
    <section class="card">
      <h2>Engines</h2>
      <Scroll label="Engines">
        <table class="rows">
          <TableHead columns={['Name', 'Kind', 'Health', ['Waiting calls', 'right']]} />
          <tbody>
            {engines.map(({ name, kind, up, waiting }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{kind}</td>
                <td>
                  <span class={`badge ${up ? 'ok' : 'failed'}`}>{up ? 'up' : 'cannot be reached'}</span>
                </td>
                <td class="right">{wholeText(waiting)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

function Models({ state: { models } }: { readonly state: GetServerStateResponse }) {
  return (
    <section class="card">
      <h2>Models</h2>
      <Scroll label="Models">
        <table class="rows">
          <TableHead columns={['Id', 'Type', 'Engines', 'State', ['Credits a million tokens', 'right']]} />
          <tbody>
            {models.map(({ id, type, engines, available, reason, inputPrice, outputPrice }) => (
              <tr key={id}>
                <th scope="row">{id}</th>
                <td>{type}</td>
                <td>{engines.join(', then ')}</td>
                <td>
                  <span class={`badge ${available ? 'ok' : 'failed'}`}>
                    {available ? 'available' : reason}
                  </span>
                </td>
                <td class="right">
                  {inputPrice === undefined ? '–' : `${inputPrice} in, ${outputPrice} out`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

function Findings() {
  const [found, setFound] = useState<readonly Diagnostic[]>();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const diagnose = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      setFound((await admin.diagnoseServer({})).diagnostics);
    } catch (error) {
      setProblem(failureOf(error).message);
    }
    setBusy(false);
  };
  return (
    <section class="card">
      <div class="title">
        <h2>Findings</h2>
        <button type="button" aria-disabled={isBusy} onClick={() => void diagnose()}>
          {isBusy ? 'Checking…' : 'Check the engines'}
        </button>
      </div>
      <p class="quiet">
        Checks that each engine can serve its models. <code>parley doctor</code> on the machine of the server
        also checks its ports, certificates, limits and database.
      </p>
      <ul class="findings" aria-live="polite">
        {found?.map(({ area, subject, state, found: text, advice }) => (
          <li key={`${area} ${subject} ${text}`}>
            <span class={`badge ${badges[state] ?? ''}`}>{state}</span>
            <span>
              <strong>
                {area}, {subject}:
              </strong>{' '}
              {text} {advice}
            </span>
          </li>
        ))}
      </ul>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </section>
  );
}

const badges: Readonly<Record<string, string>> = { ok: 'ok', warning: 'refused', problem: 'failed' };

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
          <label class="unseen" for="setting">
            Setting
          </label>
          <input
            id="setting"
            type="search"
            placeholder="Find a setting"
            value={query}
            onInput={({ currentTarget }) => setQuery(currentTarget.value)}
          />
        </search>
      </div>
      <p class="quiet">
        As the server has them, with the defaults. <code>parley config show</code> also tells where each comes
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
