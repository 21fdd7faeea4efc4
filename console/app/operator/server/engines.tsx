import { useState } from 'preact/hooks';
import type {
  EngineFailure,
  EngineRequests,
  EngineState,
  GetServerStateResponse,
} from '../../../../gen/parley/admin/v1/admin_pb.ts';
import { admin, failureOf } from '../../api.ts';
import { durationText, Time, wholeText } from '../../format.tsx';
import { Scroll } from '../../scroll.tsx';
import { TableHead } from '../../table-head.tsx';

interface EnginesProps {
  readonly state: GetServerStateResponse;
  readonly isReadOnly: boolean;
  /** Called when a program was started or ended by hand. */
  readonly onChanged: () => void;
}

export function Engines({ state: { engines }, isReadOnly, onChanged }: EnginesProps) {
  const [problem, setProblem] = useState<string>();
  const switchProgram = async (name: string, isRunning: boolean) => {
    setProblem(undefined);
    try {
      await (isRunning ? admin.unloadEngine({ name }) : admin.loadEngine({ name }));
    } catch (error) {
      setProblem(failureOf(error).message);
    }
    onChanged();
  };
  return (
    <section class="card">
      <h2>Engines</h2>
      <Scroll label="Engines">
        <table class="rows">
          <TableHead
            columns={[
              'Name',
              'Kind',
              'Health',
              ['Requests', 'right'],
              ['First output', 'right'],
              ['Failed', 'right'],
              ['Running calls', 'right'],
              ['Waiting calls', 'right'],
              ['Files', 'right'],
              ['Memory', 'right'],
              'Last use',
              'Program',
            ]}
          />
          <tbody>
            {engines.map((engine) => (
              <tr key={engine.name}>
                <th scope="row">{engine.name}</th>
                <td>{engine.kind}</td>
                <td>
                  <Health of={engine} />
                </td>
                <RequestCells of={engine.requests} />
                <td class="right">{countText(engine.running, engine.runningMax)}</td>
                <td class="right">{countText(engine.waiting, engine.waitingMax)}</td>
                <td class="right">{sizeText(engine.fileBytes)}</td>
                <td class="right">{sizeText(engine.program?.memoryBytes)}</td>
                <td>{engine.program?.lastUsedAt ? <Time at={engine.program.lastUsedAt} /> : '–'}</td>
                <td>{isReadOnly ? '–' : <ProgramButton of={engine} onClick={switchProgram} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <p class="quiet">
        First output and failures are those of the last 5 minutes, at most of the last 512 requests: the
        median time to the first part of the answer, and the time that 95 of 100 requests do not exceed.
      </p>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </section>
  );
}

function RequestCells({ of }: { readonly of: EngineRequests | undefined }) {
  const { running, ended = 0, failed, firstOutputMsMedian: median, firstOutputMsP95: p95 } = of ?? {};
  return (
    <>
      <td class="right">{countText(running, undefined)}</td>
      <td class="right">
        {median === undefined || p95 === undefined
          ? '–'
          : `${durationText(median)}, 95 %: ${durationText(p95)}`}
      </td>
      <td class="right">{ended === 0 ? '–' : countText(failed, ended)}</td>
    </>
  );
}

interface ProgramButtonProps {
  readonly of: EngineState;
  readonly onClick: (name: string, isRunning: boolean) => Promise<void>;
}

function ProgramButton({ of: { name, program }, onClick }: ProgramButtonProps) {
  if (program === undefined) return '–';
  const isRunning = runningStates.has(program.state);
  return (
    <button type="button" onClick={() => void onClick(name, isRunning)}>
      {isRunning ? 'Unload' : 'Load'}
    </button>
  );
}

const runningStates: ReadonlySet<string> = new Set(['waiting', 'loading', 'ready', 'busy']);

const breakerTexts: Readonly<Record<string, string>> = {
  open: 'circuit breaker open: calls fail at once',
  half_open: 'circuit breaker half open: one call is tried',
};

const programBadges: Readonly<Record<string, string>> = {
  ready: 'ok',
  busy: 'ok',
  waiting: 'refused',
  loading: 'refused',
  failed: 'failed',
};

function Health({ of: { up, breaker = '', program, requests } }: { readonly of: EngineState }) {
  const failure = requests?.lastFailure;
  if (program !== undefined) {
    return (
      <>
        <span class={`badge ${programBadges[program.state] ?? ''}`}>{program.state}</span>
        {program.failure !== undefined && <span class="quiet">last failure: {program.failure}</span>}
        <LastFailure of={failure} />
      </>
    );
  }
  return (
    <>
      <span class={`badge ${up ? 'ok' : 'failed'}`}>{up ? 'up' : 'cannot be reached'}</span>
      {breakerTexts[breaker] !== undefined && <span class="quiet">{breakerTexts[breaker]}</span>}
      <LastFailure of={failure} />
    </>
  );
}

function LastFailure({ of: failure }: { readonly of: EngineFailure | undefined }) {
  if (failure?.at === undefined) return null;
  return (
    <span class="quiet">
      last failed request: {failure.model}, {failure.reason} (<code>{failure.code}</code>),{' '}
      <Time at={failure.at} />
    </span>
  );
}

function sizeText(bytes = 0n): string {
  return bytes === 0n ? '–' : `${wholeText(Math.round(Number(bytes) / 1024 ** 2))} MiB`;
}

function countText(count: number | undefined, max: number | undefined): string {
  if (count === undefined) return '–';
  return max === undefined ? wholeText(count) : `${wholeText(count)} of ${wholeText(max)}`;
}
