import { extname } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import type { SynthesizeSpeechResponse } from '../../../gen/parley/speech/v1/speech_pb.ts';
import { type AudioFormat, audioFormats } from '../../core/entities/engine.ts';
import { type ClientFlags, type JsonFlag, withClientFlags } from '../flags.ts';
import { interruptible, joined, newCommand, usageError } from '../terminal/command.ts';
import { printData, printJson, printStatus } from '../terminal/terminal.ts';
import { spanText } from '../terminal/times.ts';
import { writeWhole } from '../terminal/whole-file.ts';
import { firstModel } from './models.ts';

interface SpeakFlags extends ClientFlags, JsonFlag {
  readonly output?: string;
  readonly voice?: string;
  readonly model?: string;
  readonly format?: AudioFormat;
}

const formatsByExtension = new Map<string, AudioFormat>([
  ...audioFormats.map((format) => [`.${format}`, format] as const),
  ['.ogg', 'opus'],
  ['.oga', 'opus'],
  ['.raw', 'pcm'],
]);

export function speakCommand(): Command {
  const command = newCommand('speak', 'Turn text into speech.')
    .argument('[text...]', 'what to say (default, and for `-`: standard input)')
    .option('-o, --output <file>', 'where to write the audio (default: standard output)')
    .option('--voice <voice>', "one of the model's voices (default: the model's default voice)")
    .option('--model <model>', 'the model (default: the first speech model that the key can call)')
    .addOption(
      new Option('--format <format>', "the format (default: by the file's extension, else mp3)").choices(
        audioFormats,
      ),
    )
    .option('--json', 'with -o: print file, size and times as one JSON document');
  return withClientFlags(command).action(speak);
}

async function speak(words: readonly string[], flags: SpeakFlags, command: Command): Promise<void> {
  const given = joined(words);
  const output = flags.output === '-' ? undefined : flags.output;
  const format = flags.format ?? formatOf(output, command);
  checkUse(given, output, flags, command);
  const { clientServer, SpeechService } = await import('../client/calls.ts');
  const server = clientServer(flags);
  const input = given === undefined || given === '-' ? await standardInput() : given;
  await interruptible(async (signal) => {
    const model = flags.model ?? (await firstModel(server, 'speech', signal));
    const { voice } = flags;
    const request = { model, input, responseFormat: format, ...(voice !== undefined && { voice }) };
    const received: Received = { bytes: 0, firstByteMs: undefined, ms: 0 };
    const audio = measured(
      server.stream(SpeechService, (client, options) => client.synthesizeSpeech(request, options), signal),
      received,
    );
    if (output === undefined) for await (const part of audio) await printData(part);
    else await writeWhole(output, audio);
    report(received, output ?? 'standard output');
    if (output !== undefined && flags.json) await printJson(written(output, { model, format }, received));
  });
}

/** Reports misuse that the parser cannot detect, before anything is read or sent. */
function checkUse(
  given: string | undefined,
  output: string | undefined,
  { json }: JsonFlag,
  command: Command,
): void {
  if (output === undefined && process.stdout.isTTY) {
    usageError(
      command,
      'audio cannot be written to a terminal: name a file with -o, or pipe it to a program with |',
    );
  }
  if (output === undefined && json) usageError(command, '--json needs -o: standard output has the audio');
  if (given === undefined && process.stdin.isTTY) {
    usageError(command, 'give the text as an argument, or pipe it in');
  }
}

/** All of standard input, without the final line feed. */
async function standardInput(): Promise<string> {
  return (await text(process.stdin)).replace(/\r?\n$/, '');
}

interface Received {
  bytes: number;
  firstByteMs: number | undefined;
  ms: number;
}

/** Passes the audio on and records its size and times. */
async function* measured(
  parts: AsyncIterable<SynthesizeSpeechResponse>,
  received: Received,
): AsyncGenerator<Uint8Array> {
  const startedAt = performance.now();
  for await (const { audio } of parts) {
    received.firstByteMs ??= performance.now() - startedAt;
    received.bytes += audio.length;
    yield audio;
  }
  received.ms = performance.now() - startedAt;
}

function report({ bytes, firstByteMs, ms }: Received, place: string): void {
  const first = firstByteMs === undefined ? '' : `, the first after ${spanText(firstByteMs)}`;
  printStatus(`${place}: ${bytes} bytes in ${spanText(ms)}${first}`);
}

function written(
  file: string,
  made: { model: string; format: string },
  { bytes, firstByteMs, ms }: Received,
) {
  return { file, ...made, bytes, first_byte_ms: Math.round(firstByteMs ?? ms), duration_ms: Math.round(ms) };
}

function formatOf(output: string | undefined, command: Command): AudioFormat {
  if (output === undefined) return 'mp3';
  const format = formatsByExtension.get(extname(output).toLowerCase());
  if (format !== undefined) return format;
  const known = [...formatsByExtension.keys()].join(', ');
  return usageError(command, `the file name has no known extension: use one of ${known}, or add --format`);
}
