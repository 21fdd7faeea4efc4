import type { EngineState, GetServerStateResponse } from '../../../../gen/parley/admin/v1/admin_pb.ts';
import { wholeText } from '../../format.tsx';
import { Scroll } from '../../scroll.tsx';
import { TableHead } from '../../table-head.tsx';

export function Engines({ state: { engines } }: { readonly state: GetServerStateResponse }) {
  return (
    <section class="card">
      <h2>Engines</h2>
      <Scroll label="Engines">
        <table class="rows">
          <TableHead
            columns={['Name', 'Kind', 'Health', ['Running calls', 'right'], ['Waiting calls', 'right']]}
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

function Health({ of: { up, breaker = '' } }: { readonly of: EngineState }) {
  return (
    <>
      <span class={`badge ${up ? 'ok' : 'failed'}`}>{up ? 'up' : 'cannot be reached'}</span>
      {breakerTexts[breaker] !== undefined && <span class="quiet">{breakerTexts[breaker]}</span>}
    </>
  );
}

function countText(count: number | undefined, max: number | undefined): string {
  if (count === undefined) return '–';
  return max === undefined ? wholeText(count) : `${wholeText(count)} of ${wholeText(max)}`;
}
