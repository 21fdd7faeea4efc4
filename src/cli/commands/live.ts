/** Speech while it is spoken: written down by `parley listen`, answered by `parley talk`. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import type {
  SpokenTurn,
  StreamTranscribeRequestSchema,
  TurnFailure,
} from '../../../gen/parley/audio/v1/live_pb.ts';
import type { LiveAudio } from '../client/live-audio.ts';
import type { Utterance } from '../client/talk.ts';
import { type ClientFlags, type JsonFlag, parseCount, withClientFlags } from '../flags.ts';
import { CliError, interruptible, newCommand } from '../terminal/command.ts';
import { ChangingLine } from '../terminal/status-bar.ts';
import { printData, shown } from '../terminal/terminal.ts';

/** A command that takes speech from a file, standard input or the microphone. */
function liveCommand(name: string, description: string): Command {
  return withClientFlags(newCommand(name, description))
    .argument(
      '[file]',
      'a WAV file, or - for plain 16-bit samples on standard input (default: the microphone)',
    )
    .option('--rate <hertz>', 'the sample rate of plain samples and of the microphone', parseCount, 16_000);
}

interface ListenFlags extends ClientFlags, JsonFlag {
  readonly rate: number;
  /** Undefined: the server decides. */
  readonly silence?: number;
  readonly language?: string;
}

export function listenCommand(): Command {
  return liveCommand('listen', 'Print speech while it is spoken, a line for each turn.')
    .option('--silence <ms>', 'the silence that ends a turn (default: that of the server)', parseCount)
    .option('--language <language>', 'the language spoken, such as en (a hint)')
    .option('--json', 'print each turn as a line of JSON, with the times of its words')
    .action(listen);
}

async function listen(file: string | undefined, flags: ListenFlags): Promise<void> {
  const { clientServer, openGrpc, openLiveAudio, TranscriptionService } = await import('../client/calls.ts');
  const server = clientServer(flags);
  await interruptible(async (signal) => {
    const audio = await openLiveAudio(file, flags.rate, signal);
    const line = new ChangingLine();
    const responses = server.stream(
      TranscriptionService,
      (client, options) => client.streamTranscribe(requestsOf(audio, flags), options),
      signal,
      openGrpc,
    );
    try {
      for await (const { event } of responses) {
        if (event.case === 'partial') line.show(event.value.text, 'end');
        if (event.case !== 'turn' && event.case !== 'failure') continue;
        line.clear();
        if (event.case === 'turn') await printTurn(event.value, flags);
        else throw failed(event.value);
      }
    } finally {
      line.clear();
    }
  });
}

async function* requestsOf(
  { sampleRate, parts }: LiveAudio,
  { silence, language }: ListenFlags,
): AsyncGenerator<MessageInitShape<typeof StreamTranscribeRequestSchema>> {
  const turnDetection = silence === undefined ? {} : { silenceMs: silence };
  const config = { sampleRate, turnDetection, ...(language && { language }) };
  yield { part: { case: 'config', value: config } };
  for await (const value of parts) yield { part: { case: 'audio', value } };
}

/** A turn in which no word was heard has no line. */
async function printTurn(turn: SpokenTurn, { json }: ListenFlags): Promise<void> {
  if (json) {
    const { SpokenTurnSchema, toJson } = await import('../client/calls.ts');
    await printData(`${JSON.stringify(toJson(SpokenTurnSchema, turn))}\n`);
  } else if (turn.text !== '') await printData(`${shown(turn.text)}\n`);
}

function failed({ message, code }: TurnFailure): CliError {
  return new CliError(`A turn has no text: ${message} (${code})`);
}

interface TalkFlags extends ClientFlags, JsonFlag {
  readonly output?: string;
  readonly model?: string;
  readonly voice?: string;
  readonly instructions?: string;
  readonly rate: number;
  readonly silence: number;
}

export function talkCommand(): Command {
  return liveCommand('talk', 'Talk with a conversation model, by microphone and loudspeaker.')
    .option('-o, --output <file>', 'a WAV file for the answers (default: a program plays them)')
    .option('--model <model>', 'the conversation model (default: the first one of the server)')
    .option('--voice <voice>', "a voice of its speech model (default: the model's)")
    .option('--instructions <text>', 'what the chat model should know before it answers')
    .option('--silence <ms>', 'the silence that ends a turn', parseCount, 500)
    .option('--json', 'print each turn as a line of JSON')
    .action(talk);
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
        await printUtterance(utterance, flags);
    } finally {
      await speaker.close();
    }
  });
}

/** Prints a turn. The user's begin with `> `. */
async function printUtterance(utterance: Utterance, { json }: TalkFlags): Promise<void> {
  const line = json
    ? JSON.stringify(utterance)
    : `${utterance.role === 'user' ? '> ' : ''}${shown(utterance.text)}`;
  await printData(`${line}\n`);
}
