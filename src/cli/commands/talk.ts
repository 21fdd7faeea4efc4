import type { Command } from 'commander';
import type { Utterance } from '../client/talk.ts';
import { type ClientFlags, type JsonFlag, parseCount, withClientFlags } from '../flags.ts';
import { interruptible, newCommand } from '../terminal/command.ts';
import { printData, shown } from '../terminal/terminal.ts';

interface TalkFlags extends ClientFlags, JsonFlag {
  readonly output?: string;
  readonly model?: string;
  readonly voice?: string;
  readonly instructions?: string;
  readonly rate: number;
  readonly silence: number;
}

export function talkCommand(): Command {
  const command = newCommand('talk', 'Talk with a conversation model, by microphone and loudspeaker.', [
    'parley talk   # until Ctrl-C; with headphones, as it hears itself',
    'parley talk question.wav -o answer.wav',
    'parley talk --instructions "Answer in one sentence." --voice slt',
  ])
    .argument(
      '[file]',
      'a WAV file, or - for plain 16-bit samples on standard input (default: the microphone)',
    )
    .option('-o, --output <file>', 'a WAV file for the answers (default: a program plays them)')
    .option('--model <model>', 'the conversation model (default: the first one of the server)')
    .option('--voice <voice>', "a voice of its speech model (default: the model's)")
    .option('--instructions <text>', 'what the chat model should know before it answers')
    .option('--rate <hertz>', 'the sample rate of plain samples and of the microphone', parseCount, 16_000)
    .option('--silence <ms>', 'the silence that ends a turn', parseCount, 500)
    .option('--json', 'print each turn as a line of JSON');
  return withClientFlags(command).action(talk);
}

async function talk(file: string | undefined, flags: TalkFlags): Promise<void> {
  const { clientServer, openLiveAudio, openSpeaker, Talk } = await import('../client/calls.ts');
  const server = clientServer(flags);
  await interruptible(async (signal) => {
    const audio = await openLiveAudio(file, flags.rate, signal);
    const query = flags.model === undefined ? '' : `model=${encodeURIComponent(flags.model)}`;
    const speaker = await openSpeaker(flags.output, signal);
    try {
      const connection = await server.openRealtime(query, signal);
      for await (const utterance of new Talk(connection, speaker, audio, flags).run())
        await print(utterance, flags);
    } finally {
      await speaker.close();
    }
  });
}

/** Prints a turn. The user's begin with `> `. */
async function print(utterance: Utterance, { json }: TalkFlags): Promise<void> {
  const line = json
    ? JSON.stringify(utterance)
    : `${utterance.role === 'user' ? '> ' : ''}${shown(utterance.text)}`;
  await printData(`${line}\n`);
}
