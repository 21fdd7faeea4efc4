/** Shared by all commands: help, exit codes and Ctrl-C. */
import { Command, type CommanderError } from 'commander';
import type { ErrorInfo } from '../../../gen/google/rpc/error_details_pb.ts';
import { examplesOf } from '../examples.ts';

/** A failure that ends the program with code 1. Its message is one line and says what to do. */
export class CliError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'CliError';
  }
}

/** An error response of a Parley. */
export class ServerError extends CliError {
  readonly code: string;
  readonly requestId: string;
  /** The field that the error is about, if any. */
  readonly param: string | undefined;
  /** The message without code and request id: problem and advice. */
  readonly words: string;

  constructor(words: string, { reason, metadata }: ErrorInfo) {
    const { request_id: requestId = '', param } = metadata;
    super(`${words} (${reason}, request ${requestId})`);
    this.words = words;
    this.code = reason;
    this.requestId = requestId;
    this.param = param;
  }
}

/** For arguments and flags that the command does not accept. */
const usageExitCode = 2;

/** Called by the parser: with exit code 0 after printing help, else after misuse. */
function leave({ exitCode }: CommanderError): never {
  process.exit(exitCode === 0 ? 0 : usageExitCode);
}

/** A command whose help has the examples of its name. */
export function newCommand(name: string, description: string): Command {
  const command: Command = new Command(name).description(description).exitOverride(leave);
  command.configureOutput({
    outputError: (text, write) => {
      const [line = '', ...hints] = text.trim().split('\n');
      hints.push(...choiceMeant(line));
      write(`${[line.replace(/\.?$/, '.'), ...hints].join(' ')} See \`${fullName(command)} --help\`.\n`);
    },
  });
  const inner = () => (command.parent ? command.commands.map((one) => one.name()) : firstCommands);
  return command.addHelpText('after', () => {
    const examples = examplesOf(fullName(command), inner());
    return `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`;
  });
}

/** The program shows how to begin. */
const firstCommands = ['serve', 'speak', 'transcribe', 'chat'];

/** The allowed value that was probably meant, from the parser's message about an invalid one. */
function choiceMeant(line: string): string[] {
  const [, given = '', list] =
    /'([^']*)' is invalid\. (?:Allowed choices are|Write one or more of) (.+)\.$/.exec(line) ?? [];
  const choices = list?.split(/, ?/) ?? [];
  const wrong = given.split(',').find((one) => /^\w/.test(one) && !choices.includes(one));
  return wrong === undefined ? [] : parserHints(wrong, choices);
}

/** The hints of the parser, which knows similar names of commands: loading a package for this would slow down `--help`. */
function parserHints(wrong: string, names: readonly string[]): string[] {
  const hints: string[] = [];
  const parser = new Command()
    .exitOverride()
    .configureOutput({ outputError: (text) => hints.push(...text.trim().split('\n').slice(1)) });
  for (const name of names) parser.command(name);
  try {
    parser.parse(['--', wrong], { from: 'user' });
  } catch {
    // The word is unknown.
  }
  return hints;
}

/** Path such as `parley key create`. */
function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

/** The words of a text given without quotes; undefined if there are none. */
export function joined(words: readonly string[]): string | undefined {
  return words.length === 0 ? undefined : words.join(' ');
}

/** Ends the program after misuse that the parser cannot detect. */
export function usageError(command: Command, message: string): never {
  return command.error(`error: ${message}`);
}

/**
 * Runs work that Ctrl-C or SIGTERM ends. First aborts the work, so that it can clean up. Then ends the program by the
 * same signal, as its caller expects.
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
