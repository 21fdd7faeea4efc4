/** A conversation at the terminal: a line is a message, and the answer comes as it is made. */
import { createInterface } from 'node:readline/promises';
import { CliError } from '../terminal/cli-error.ts';
import { printData, printStatus, shown } from '../terminal/terminal.ts';
import type { ChatMessage } from './chat-request.ts';

type Ask = (messages: readonly ChatMessage[], signal: AbortSignal) => AsyncIterable<string>;

/**
 * Reads messages until /quit or the end of the input. Ctrl-C ends the answer that is coming; without one it ends the
 * conversation. A failed answer is told, and the conversation goes on without that message.
 *
 * @throws CliError at the end, where an answer failed and nobody sat at the terminal to see it
 */
export async function converse(before: readonly ChatMessage[], ask: Ask): Promise<void> {
  const isWatched = process.stdin.isTTY;
  // The prompt is no data: it goes where status goes.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: isWatched });
  let answering: AbortController | undefined;
  const interrupt = () => (answering ? answering.abort(new CliError('ended')) : lines.close());
  lines.on('SIGINT', interrupt);
  process.on('SIGINT', interrupt);
  let isOpen = true;
  lines.once('close', () => {
    isOpen = false;
  });
  // Input that was piped in may have ended while its lines are still being answered.
  const prompt = () => isWatched && isOpen && lines.prompt();
  const messages = [...before];
  let failures = 0;
  try {
    prompt();
    for await (const line of lines) {
      if (line.trim() === '/quit') break;
      if (line.trim() !== '') {
        answering = new AbortController();
        const question: ChatMessage = { role: 'user', content: line };
        const answer = await printAnswer(ask([...messages, question], answering.signal), answering.signal);
        answering = undefined;
        if (answer === undefined) failures++;
        else messages.push(question, { role: 'assistant', content: answer });
      }
      prompt();
    }
  } finally {
    process.off('SIGINT', interrupt);
    lines.close();
    if (isWatched) printStatus('');
  }
  if (failures > 0 && !isWatched)
    throw new CliError(failures === 1 ? 'One answer failed.' : `${failures} answers failed.`);
}

/** The answer's text as far as it came; undefined where it failed. */
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
