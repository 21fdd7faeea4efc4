import type { Command } from 'commander';
import { readNotices } from '../../app/notices.ts';
import { newCommand } from '../terminal/command.ts';
import { printData } from '../terminal/terminal.ts';

export function noticesCommand(): Command {
  return newCommand('notices', 'Show the licences of what Parley is made with.', [
    'parley notices | less',
  ]).action(() => printData(readNotices()));
}
