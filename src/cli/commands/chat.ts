import type { Command } from 'commander';
import { type ChatMessage, completeAnswer, streamAnswer } from '../client/chat-request.ts';
import { converse } from '../client/conversation.ts';
import { interruptible, joined, newCommand, usageError } from '../terminal/command.ts';
import { type JsonFlag, printData, printJson, shown } from '../terminal/terminal.ts';
import { firstModel } from './models.ts';
import { type ClientFlags, clientServer, withClientFlags } from './server-flags.ts';

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
    .argument('[message...]', 'what to say (default: a conversation, a line for each message)')
    .option('--model <model>', 'the model (default: the first for chat that the key can call)')
    .option('--system <text>', 'what the model is told before everything else')
    .option('--json', 'with a message: print the whole completion as one JSON document');
  return withClientFlags(command).action(chat);
}

async function chat(words: readonly string[], flags: ChatFlags, command: Command): Promise<void> {
  const message = joined(words);
  if (message === undefined && flags.json) usageError(command, '--json needs a message');
  const server = clientServer(flags);
  const system: ChatMessage[] = flags.system === undefined ? [] : [{ role: 'system', content: flags.system }];
  const model = flags.model ?? (await firstModel(server, 'chat'));
  if (message === undefined)
    return converse(system, (messages, signal) => streamAnswer(server, { model, messages, signal }));
  await interruptible(async (signal) => {
    const question = { model, messages: [...system, { role: 'user', content: message } as const], signal };
    if (flags.json) return printJson(await completeAnswer(server, question));
    for await (const text of streamAnswer(server, question)) await printData(shown(text));
    await printData('\n');
  });
}
