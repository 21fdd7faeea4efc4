/** How soon answers begin now, by engine. */
import type { EngineState } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { durationText, wholeText } from '../format.tsx';
import { type DataColumn, DataTable } from '../table/data-table.tsx';

const columns: readonly DataColumn<EngineState>[] = [
  { title: 'Engine', form: 'row', cell: ({ name }) => name },
  { title: 'Requests', form: 'right', rank: 1, cell: ({ requests }) => wholeText(requests?.ended ?? 0) },
  { title: 'Median', form: 'right', cell: ({ requests }) => timeText(requests?.firstOutputMsMedian) },
  { title: '95 % within', form: 'right', cell: ({ requests }) => timeText(requests?.firstOutputMsP95) },
];

export function FirstOutput({ engines }: { readonly engines: readonly EngineState[] }) {
  const used = engines.filter(({ requests }) => requests?.firstOutputMsMedian !== undefined);
  return (
    <section class="card">
      <h2>First output, by engine</h2>
      {used.length > 0 && (
        <DataTable label="First output" columns={columns} rows={used} keyOf={({ name }) => name} />
      )}
      <p class="quiet">
        {used.length === 0
          ? 'No answer has begun in the last 5 minutes on this server.'
          : 'The time to the first part of an answer, for chats the first token, in the last 5 minutes on this server: at most the last 512 requests of each engine.'}
      </p>
    </section>
  );
}

function timeText(ms: number | undefined): string {
  return ms === undefined ? '–' : durationText(ms);
}
