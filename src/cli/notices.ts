import type { Command } from 'commander';
import { readNotices } from '../notices-file.ts';
import { newCommand } from './command.ts';
import { printData } from './terminal.ts';

export function noticesCommand(): Command {
  return newCommand('notices', 'Show the licences of what Parley is made with.', [
    'parley notices | less',
  ]).action(() => printData(readNotices()));
}
