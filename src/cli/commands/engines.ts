import type { Command } from 'commander';
import type { EngineRequests, EngineState } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { table } from '../terminal/table.ts';
import { timeText } from '../terminal/times.ts';
import { adminCommand, calling } from './admin-command.ts';

const mebibyte = 1024 ** 2;

export function enginesCommand(): Command {
  return adminCommand('engines', 'Show the engines of the running server.')
    .action(
      calling(
        'getServerState',
        () => ({}),
        ({ engines }) => engineTable(engines),
      ),
    )
    .addCommand(programCommand('load', 'Start the program of an engine, and wait until it is ready.'))
    .addCommand(programCommand('unload', 'End the program of an engine after its last request.'));
}

function programCommand(name: 'load' | 'unload', description: string): Command {
  return adminCommand(name, description)
    .argument('<engine>', 'its name in `parley engines`')
    .action(
      calling(
        `${name}Engine`,
        (engine: string) => ({ name: engine }),
        ({ engine }) => engineTable(engine ? [engine] : []),
      ),
    );
}

function engineTable(engines: readonly EngineState[]): string {
  return table(engines, [
    { title: 'ENGINE', cell: ({ name }) => name },
    { title: 'KIND', cell: ({ kind }) => kind },
    { title: 'STATE', cell: ({ program, up }) => program?.state ?? (up ? 'up' : 'down') },
    { title: 'RUNNING', cell: ({ running }) => running?.toString(), align: 'right' },
    { title: 'WAITING', cell: ({ waiting }) => String(waiting), align: 'right' },
    { title: 'FAILED', cell: ({ requests }) => failedText(requests), align: 'right' },
    { title: 'FILES', cell: ({ fileBytes }) => mebibytes(fileBytes), align: 'right' },
    { title: 'MEMORY', cell: ({ program }) => mebibytes(program?.memoryBytes), align: 'right' },
    { title: 'LAST USE (UTC)', cell: ({ program }) => program?.lastUsedAt && timeText(program.lastUsedAt) },
    { title: 'FAILURE', cell: ({ program, requests }) => program?.failure ?? requests?.lastFailure?.reason },
  ]);
}

/** Those of the last 5 minutes. */
function failedText({ ended, failed }: Pick<EngineRequests, 'ended' | 'failed'> = { ended: 0, failed: 0 }) {
  return ended === 0 ? undefined : `${failed} of ${ended}`;
}

function mebibytes(bytes = 0n): string | undefined {
  return bytes === 0n ? undefined : `${Math.round(Number(bytes) / mebibyte)} MiB`;
}
