import type {
  EngineState,
  GetServerStateResponse,
  ProgramState,
} from '../../../../gen/parley/admin/v1/admin_pb.ts';
import { Time, wholeText } from '../../format.tsx';
import { Scroll } from '../../scroll.tsx';
import { TableHead } from '../../table-head.tsx';

export function Engines({ state: { engines } }: { readonly state: GetServerStateResponse }) {
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
              ['Running calls', 'right'],
              ['Waiting calls', 'right'],
              ['Memory', 'right'],
              'Last use',
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
                <td class="right">{countText(engine.running, engine.runningMax)}</td>
                <td class="right">{countText(engine.waiting, engine.waitingMax)}</td>
                <td class="right">{memoryText(engine.program)}</td>
                <td>{engine.program?.lastUsedAt ? <Time at={engine.program.lastUsedAt} /> : '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

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

function Health({ of: { up, breaker = '', program } }: { readonly of: EngineState }) {
  if (program !== undefined) {
    return (
      <>
        <span class={`badge ${programBadges[program.state] ?? ''}`}>{program.state}</span>
        {program.failure !== undefined && <span class="quiet">last failure: {program.failure}</span>}
      </>
    );
  }
  return (
    <>
      <span class={`badge ${up ? 'ok' : 'failed'}`}>{up ? 'up' : 'cannot be reached'}</span>
      {breakerTexts[breaker] !== undefined && <span class="quiet">{breakerTexts[breaker]}</span>}
    </>
  );
}

function memoryText(program: ProgramState | undefined): string {
  if (program === undefined || program.memoryBytes === 0n) return '–';
  return `${wholeText(Math.round(Number(program.memoryBytes) / 1024 ** 2))} MiB`;
}

function countText(count: number | undefined, max: number | undefined): string {
  if (count === undefined) return '–';
  return max === undefined ? wholeText(count) : `${wholeText(count)} of ${wholeText(max)}`;
}
