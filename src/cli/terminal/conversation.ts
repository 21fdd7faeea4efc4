/** A conversation at the terminal: each line is a question, and its answer is printed as it arrives. */
import { createInterface } from 'node:readline/promises';
import { CliError } from './command.ts';
import { printData, printStatus, shown } from './terminal.ts';

const help = '/quit or Ctrl-D ends the conversation, Ctrl-C ends an answer. Everything else is sent.';

/**
 * Reads questions until /quit or the end of the input. Ctrl-C ends a running answer, else the conversation. A failed
 * answer is reported, and the conversation continues.
 * @param answered called after each successful answer, and one ended by Ctrl-C
 * @throws CliError at the end if an answer failed and the input is not a terminal
 */
export async function converse(
  ask: (question: string, signal: AbortSignal) => AsyncIterable<string>,
  answered: (question: string, answer: string) => void,
): Promise<void> {
  const isTerminal = process.stdin.isTTY;
  // The prompt is not data, so it goes to standard error.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: isTerminal });
  let answering: AbortController | undefined;
  const interrupt = () => (answering ? answering.abort(new CliError('ended')) : lines.close());
  lines.on('SIGINT', interrupt);
  process.on('SIGINT', interrupt);
  let isOpen = true;
  lines.once('close', () => {
    isOpen = false;
  });
  // Piped input may end before its last lines are answered.
  const prompt = () => isTerminal && isOpen && lines.prompt();
  let failures = 0;
  try {
    prompt();
    for await (const line of lines) {
      if (line.trim() === '/quit') break;
      if (line.trim() === '/help') printStatus(help);
      else if (line.trim() !== '') {
        answering = new AbortController();
        const answer = await printAnswer(ask(line, answering.signal), answering.signal);
        answering = undefined;
        if (answer === undefined) failures++;
        else answered(line, answer);
      }
      prompt();
    }
  } finally {
    process.off('SIGINT', interrupt);
    lines.close();
    if (isTerminal) printStatus('');
  }
  if (failures > 0 && !isTerminal)
    throw new CliError(failures === 1 ? 'One answer failed.' : `${failures} answers failed.`);
}

/** Returns the text received; undefined if the answer failed. */
async function printAnswer(parts: AsyncIterable<string>, signal: AbortSignal): Promise<string | undefined> {
  let answer = '';
  try {
    for await (const text of parts) {
      answer += text;
      await printData(shown(text));
    }
  } catch (error) {
    if (!signal.aborted) {
      printStatus(`${answer === '' ? '' : '\n'}${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  }
  await printData('\n');
  return answer;
}
