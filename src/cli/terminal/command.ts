/** What every command has in common: its help, its exit codes and how it hears of Ctrl-C. */
import { Command, type CommanderError } from 'commander';
import { CliError } from './cli-error.ts';

/** A command that was called in a way that it does not understand. */
const usageExitCode = 2;

/** Asking for help is no failure; any other end that the parser brings about is a wrong use. */
function leave({ exitCode }: CommanderError): never {
  process.exit(exitCode === 0 ? 0 : usageExitCode);
}

/** @param examples lines such as `parley account list`, with a comment after two spaces where it helps */
export function newCommand(name: string, description: string, examples: readonly string[] = []): Command {
  const command: Command = new Command(name).description(description).exitOverride(leave);
  command.configureOutput({
    outputError: (text, write) => {
      const [line, ...hints] = text.trim().split('\n');
      write(`${[line?.replace(/\.?$/, '.'), ...hints].join(' ')} See \`${fullName(command)} --help\`.\n`);
    },
  });
  if (examples.length === 0) return command;
  return command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`);
}

/** As it is typed: `parley key create`. */
function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

/** A text that a person need not put in quotes; undefined where none is given. */
export function joined(words: readonly string[]): string | undefined {
  return words.length === 0 ? undefined : words.join(' ');
}

/** Ends the program for a wrong use that the parser cannot see. */
export function usageError(command: Command, message: string): never {
  return command.error(`error: ${message}`);
}

/**
 * Runs what Ctrl-C or SIGTERM may end. The signal aborts first, so that half-done work is cleared away; then the
 * program ends by it, as its caller expects.
 */
export async function interruptible(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const abort = new AbortController();
  const stop = (name: NodeJS.Signals) => abort.abort(new Interrupted(name));
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    await run(abort.signal);
  } catch (error) {
    if (!(abort.signal.reason instanceof Interrupted)) throw error;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
  if (abort.signal.reason instanceof Interrupted) process.kill(process.pid, abort.signal.reason.signal);
}

class Interrupted extends CliError {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`ended by ${signal}`);
    this.signal = signal;
  }
}
