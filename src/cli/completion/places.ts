/** The words that may follow on a command line, from the table of commands. */
import type { Argument, Command, Option } from 'commander';

export interface Word {
  readonly text: string;
  readonly description: string;
}

/** A flag that takes a value. */
export interface ValueFlag {
  readonly names: readonly string[];
  /** The allowed values; `paths` for files and folders; `accounts` for names of accounts; empty for any other text. */
  readonly values: readonly string[] | 'paths' | 'accounts';
}

/** A command, and the words that may follow it. */
export interface Place {
  /** Words such as `parley account create`. */
  readonly path: string;
  readonly words: readonly Word[];
  /** Whether an argument is the name of an account. */
  readonly takesAccount: boolean;
  readonly valueFlags: readonly ValueFlag[];
}

/** All commands, each before its subcommands. */
export function placesOf(command: Command, path = command.name()): Place[] {
  const help = command.createHelp();
  const options = help.visibleOptions(command);
  const inner = help.visibleCommands(command);
  const words = [
    ...inner.map((one) => ({ text: one.name(), description: help.subcommandDescription(one) })),
    ...command.registeredArguments.flatMap(choicesOf),
    ...options.flatMap((option) =>
      namesOf(option).map((text) => ({ text, description: option.description })),
    ),
  ];
  const valueFlags = options
    .filter(({ required, optional }) => required || optional)
    .map((option) => ({ names: namesOf(option), values: valuesOf(option) }));
  const takesAccount = command.registeredArguments.some((argument) => argument.name() === 'account');
  const own = { path, words, takesAccount, valueFlags };
  return [own, ...inner.filter(isReal(command)).flatMap((one) => placesOf(one, `${path} ${one.name()}`))];
}

/** Commander shows a help command that is not among the commands. */
function isReal({ commands }: Command): (one: Command) => boolean {
  return (one) => commands.includes(one);
}

function choicesOf({ argChoices = [], description }: Argument): Word[] {
  return argChoices.map((text) => ({ text, description }));
}

function valuesOf({ argChoices = [], flags }: Option): ValueFlag['values'] {
  if (/<(file|folder)>/.test(flags)) return 'paths';
  return flags.includes('<account>') ? 'accounts' : argChoices;
}

function namesOf({ short, long }: Option): string[] {
  return [long, short].filter((name) => name !== undefined && name !== null);
}
