/** A failure in words for the person at the terminal: one line that says what to do. It ends the program with code 1. */
export class CliError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'CliError';
  }
}
