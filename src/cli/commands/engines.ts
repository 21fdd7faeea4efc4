import type { Command } from 'commander';
import type { EngineState } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { table } from '../terminal/table.ts';
import { timeText } from '../terminal/times.ts';
import { type AdminCommandFlags, adminCommand, callAndShow } from './admin-command.ts';

const mebibyte = 1024 ** 2;

export function enginesCommand(): Command {
  return adminCommand('engines', 'Show the engines of the running server.', ['parley engines']).action(
    async (flags: AdminCommandFlags) => {
      await callAndShow(flags, 'getServerState', {}, ({ engines }) => engineTable(engines));
    },
  );
}

function engineTable(engines: readonly EngineState[]): string {
  return table(engines, [
    { title: 'ENGINE', cell: ({ name }) => name },
    { title: 'KIND', cell: ({ kind }) => kind },
    { title: 'STATE', cell: ({ program, up }) => program?.state ?? (up ? 'up' : 'down') },
    { title: 'RUNNING', cell: ({ running }) => running?.toString(), align: 'right' },
    { title: 'WAITING', cell: ({ waiting }) => String(waiting), align: 'right' },
    { title: 'MEMORY', cell: memoryOf, align: 'right' },
    { title: 'LAST USE (UTC)', cell: ({ program }) => program?.lastUsedAt && timeText(program.lastUsedAt) },
    { title: 'FAILURE', cell: ({ program }) => program?.failure },
  ]);
}

function memoryOf({ program }: EngineState): string | undefined {
  if (program === undefined || program.memoryBytes === 0n) return undefined;
  return `${Math.round(Number(program.memoryBytes) / mebibyte)} MiB`;
}
