import { useState } from 'preact/hooks';
import type { Diagnostic } from '../../../../gen/parley/admin/v1/admin_pb.ts';
import { admin, failureOf } from '../../api.ts';
import { Message } from '../../format.tsx';

/** Findings of the server's self-check. */
export function Findings() {
  const [found, setFound] = useState<readonly Diagnostic[]>();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const diagnose = async () => {
    if (isBusy) return;
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
          {isBusy ? 'Checking…' : 'Check the server'}
        </button>
      </div>
      <p class="quiet">
        Checks engines, database, data folder, certificate, limits and clock. On the server's machine,{' '}
        <code>parley doctor</code> checks ports and the configuration file, too.
      </p>
      <DiagnosticList found={found ?? []} />
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </section>
  );
}

export function DiagnosticList({ found }: { readonly found: readonly Diagnostic[] }) {
  return (
    <ul class="findings" aria-live="polite">
      {found.map(({ area, subject, state, found: text, advice }) => (
        <li key={`${area} ${subject} ${text}`}>
          <span class={`badge ${badges[state] ?? ''}`}>{state}</span>
          <span>
            <strong>
              {area}, {subject}:
            </strong>{' '}
            <Message text={`${text} ${advice}`} />
          </span>
        </li>
      ))}
    </ul>
  );
}

const badges: Readonly<Record<string, string>> = { ok: 'ok', warning: 'refused', problem: 'failed' };
