import { createInterface } from 'node:readline/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import type { ChatMessageSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { ServerConnection } from '../client/server-connection.ts';
import { type ClientFlags, type JsonFlag, withClientFlags } from '../flags.ts';
import { CliError, interruptible, joined, newCommand, usageError } from '../terminal/command.ts';
import { printData, printJson, printStatus, shown } from '../terminal/terminal.ts';
import { firstModel } from './models.ts';

interface ChatFlags extends ClientFlags, JsonFlag {
  readonly model?: string;
  readonly system?: string;
}

export function chatCommand(): Command {
  const command = newCommand('chat', 'Ask a chat model, once or in a conversation.')
    .argument('[message...]', 'what to say (default: a conversation, one message a line)')
    .option('--model <model>', 'the model (default: the first chat model that the key can call)')
    .option('--system <text>', 'a system message before the conversation')
    .option('--json', 'with a message: print the whole completion as one JSON document');
  return withClientFlags(command).action(chat);
}

async function chat(words: readonly string[], flags: ChatFlags, command: Command): Promise<void> {
  const message = joined(words);
  if (message === undefined && flags.json) usageError(command, '--json needs a message');
  const { clientServer } = await import('../client/calls.ts');
  const server = clientServer(flags);
  const before = flags.system === undefined ? [] : [messageOf('system', flags.system)];
  const model = flags.model ?? (await firstModel(server, 'chat'));
  if (message === undefined) return talk(server, model, before);
  await interruptible(async (signal) => {
    const question = { model, messages: [...before, messageOf('user', message)] };
    if (flags.json) return printCompletion(server, question, signal);
    for await (const text of streamAnswer(server, question, signal)) await printData(shown(text));
    await printData('\n');
  });
}

type Message = MessageInitShape<typeof ChatMessageSchema>;

interface Question {
  readonly model: string;
  readonly messages: Message[];
}

function messageOf(role: 'system' | 'user' | 'assistant', text: string): Message {
  return { role, content: { value: { case: 'text', value: text } } };
}

/** A conversation. Each question is sent with all earlier answered questions and their answers. */
function talk(server: ServerConnection, model: string, before: readonly Message[]): Promise<void> {
  const messages = [...before];
  return converse(
    (line, signal) =>
      streamAnswer(server, { model, messages: [...messages, messageOf('user', line)] }, signal),
    (line, answer) => messages.push(messageOf('user', line), messageOf('assistant', answer)),
  );
}

async function* streamAnswer(
  server: ServerConnection,
  params: Question,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { ChatService } = await import('../client/calls.ts');
  const parts = server.stream(
    ChatService,
    (client, options) => client.streamChatCompletion({ params }, options),
    signal,
  );
  for await (const { chunk } of parts) yield chunk?.choices[0]?.delta?.content ?? '';
}

async function printCompletion(
  server: ServerConnection,
  params: Question,
  signal: AbortSignal,
): Promise<void> {
  const { ChatService, responseBodyCodec } = await import('../client/calls.ts');
  const response = await server.call(
    ChatService,
    (client, options) => client.createChatCompletion({ params }, options),
    signal,
  );
  await printJson(responseBodyCodec(ChatService.method.createChatCompletion).encode(response));
}

const help = '/quit or Ctrl-D ends the conversation, Ctrl-C ends an answer. Everything else is sent.';

/**
 * A conversation at the terminal: each line is a question, and its answer is printed as it arrives. Ends at /quit and with the input. Ctrl-C ends a running answer, else the conversation. A failed
 * answer is reported, and the conversation continues.
 * @param answered called after each successful answer, and one ended by Ctrl-C
 * @throws CliError at the end if an answer failed and the input is not a terminal
 */
async function converse(
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
