import { Argument, type Command } from 'commander';
import { placesOf } from '../completion/places.ts';
import { completionScripts, type Shell, shells } from '../completion/shells.ts';
import { newCommand } from '../terminal/command.ts';
import { printData } from '../terminal/terminal.ts';

export function completionCommand(): Command {
  return newCommand('completion', 'Print a script that completes command lines in a shell.', [
    'source <(parley completion bash)',
    'parley completion fish > ~/.config/fish/completions/parley.fish',
  ])
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .action((shell: Shell, _flags: object, command: Command) => {
      const program = command.parent ?? command;
      printData(completionScripts[shell](placesOf(program)));
    });
}
