/** A question before something that cannot be undone. */
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { CliError } from './command.ts';
import { printable } from './terminal.ts';

export interface YesFlag {
  readonly yes?: boolean;
}

export function withYes(command: Command): Command {
  return command.option('--yes', 'do not ask');
}

/**
 * Asks at a terminal; elsewhere `--yes` must answer.
 * @param question what will be lost
 * @throws CliError unless the answer is yes
 */
export async function confirm(question: string, { yes }: YesFlag): Promise<void> {
  if (yes) return;
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY || !output.isTTY)
    throw new CliError(`${question} Nobody can answer here: repeat the command with --yes.`);
  const lines = createInterface({ input, output, terminal: true });
  const answer = new Promise<string>((resolve) => {
    lines.once('close', () => resolve('')).once('SIGINT', () => lines.close());
    lines.question(`${printable(question)} [y/N] `).then(resolve, () => resolve(''));
  });
  const isYes = /^y(es)?$/i.test((await answer).trim());
  lines.close();
  if (!isYes) throw new CliError('Nothing was changed.');
}
