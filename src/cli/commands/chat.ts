import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import type { ChatMessageSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { ServerConnection } from '../client/server-connection.ts';
import { type ClientFlags, type JsonFlag, withClientFlags } from '../flags.ts';
import { interruptible, joined, newCommand, usageError } from '../terminal/command.ts';
import { converse } from '../terminal/conversation.ts';
import { printData, printJson, shown } from '../terminal/terminal.ts';
import { firstModel } from './models.ts';

interface ChatFlags extends ClientFlags, JsonFlag {
  readonly model?: string;
  readonly system?: string;
}

export function chatCommand(): Command {
  const command = newCommand('chat', 'Ask a chat model, once or in a conversation.', [
    'parley chat "What is a heron?"',
    'parley chat --system "Answer in one word." "What colour is the sky?"',
    'parley chat   # a conversation; /quit or Ctrl-D ends it, Ctrl-C ends an answer',
  ])
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
  const before = flags.system === undefined ? [] : [said('system', flags.system)];
  const model = flags.model ?? (await firstModel(server, 'chat'));
  if (message === undefined) return talk(server, model, before);
  await interruptible(async (signal) => {
    const question = { model, messages: [...before, said('user', message)] };
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

function said(role: 'system' | 'user' | 'assistant', text: string): Message {
  return { role, content: { value: { case: 'text', value: text } } };
}

/** A conversation. Each question is sent with all earlier answered questions and their answers. */
function talk(server: ServerConnection, model: string, before: readonly Message[]): Promise<void> {
  const messages = [...before];
  return converse(
    (line, signal) => streamAnswer(server, { model, messages: [...messages, said('user', line)] }, signal),
    (line, answer) => messages.push(said('user', line), said('assistant', answer)),
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
