import { extname } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { type AudioFormat, audioFormats } from '../../core/ports/engines.ts';
import { send } from '../client/http-client.ts';
import { writeWhole } from '../client/whole-file.ts';
import { interruptible, joined, newCommand, usageError } from '../terminal/command.ts';
import { type JsonFlag, printData, printJson, printStatus } from '../terminal/terminal.ts';
import { spanText } from '../terminal/times.ts';
import { firstModel } from './models.ts';
import { type ClientFlags, clientServer, withClientFlags } from './server-flags.ts';

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
  const command = newCommand('speak', 'Turn text into speech.', [
    'parley speak "Good morning." -o morning.mp3',
    'parley speak --voice slt -o chapter.opus < chapter.txt',
    'parley speak "Good morning." --format wav | aplay',
  ])
    .argument('[text...]', 'what to say; `-`, or nothing, reads it from standard input')
    .option('-o, --output <file>', 'where the audio goes (default: standard output)')
    .option('--voice <voice>', "one of the model's voices (default: the model's own choice)")
    .option('--model <model>', 'the model (default: the first for speech that the key can call)')
    .addOption(
      new Option('--format <format>', "the format (default: by the file's extension, else mp3)").choices(
        audioFormats,
      ),
    )
    .option('--json', 'with -o: print what was written as one JSON document');
  return withClientFlags(command).action(speak);
}

async function speak(words: readonly string[], flags: SpeakFlags, command: Command): Promise<void> {
  const given = joined(words);
  const output = flags.output === '-' ? undefined : flags.output;
  const format = flags.format ?? formatOf(output, command);
  checkUse(given, output, flags, command);
  const server = clientServer(flags);
  const input = given === undefined || given === '-' ? await standardInput() : given;
  await interruptible(async (signal) => {
    const model = flags.model ?? (await firstModel(server, 'speech', signal));
    const json = {
      model,
      input,
      response_format: format,
      ...(flags.voice !== undefined && { voice: flags.voice }),
    };
    const received: Received = { bytes: 0, firstByteMs: undefined, ms: 0 };
    const call = { verb: 'POST', path: '/audio/speech', json, signal } as const;
    const audio = measured(async () => (await send(server, call)).body, received);
    if (output === undefined) for await (const part of audio) await printData(part);
    else await writeWhole(output, audio);
    report(received, output ?? 'standard output');
    if (output !== undefined && flags.json) await printJson(written(output, { model, format }, received));
  });
}

/** Wrong uses that the parser cannot see, told before anything is read or sent. */
function checkUse(
  given: string | undefined,
  output: string | undefined,
  { json }: JsonFlag,
  command: Command,
): void {
  if (output === undefined && process.stdout.isTTY) {
    usageError(command, 'audio is not for a terminal: name a file with -o, or send it on with |');
  }
  if (output === undefined && json) usageError(command, '--json needs -o: standard output has the audio');
  if (given === undefined && process.stdin.isTTY) {
    usageError(command, 'give the text as an argument, or pipe it in');
  }
}

/** What is piped in, whole, without the line feed at its end. */
async function standardInput(): Promise<string> {
  return (await text(process.stdin)).replace(/\r?\n$/, '');
}

interface Received {
  bytes: number;
  firstByteMs: number | undefined;
  ms: number;
}

/** Passes audio on as it comes and notes how much of it came when. */
async function* measured(
  ask: () => Promise<AsyncIterable<Buffer>>,
  received: Received,
): AsyncGenerator<Buffer> {
  const startedAt = performance.now();
  for await (const part of await ask()) {
    received.firstByteMs ??= performance.now() - startedAt;
    received.bytes += part.length;
    yield part;
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

/** The format that a file's name asks for. */
function formatOf(output: string | undefined, command: Command): AudioFormat {
  if (output === undefined) return 'mp3';
  const format = formatsByExtension.get(extname(output).toLowerCase());
  if (format !== undefined) return format;
  const known = [...formatsByExtension.keys()].join(', ');
  return usageError(
    command,
    `the name of the file tells no format: end it in one of ${known}, or add --format`,
  );
}
