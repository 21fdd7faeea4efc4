/** Plays the speech of a conversation: by a program of the system, or into a WAV file. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { unknownLength, wavHeader } from '../../media/encoders/wav.ts';
import { CliError } from '../terminal/command.ts';
import { writeWhole } from '../terminal/whole-file.ts';
import { startFirst } from './live-audio.ts';

/** Hertz. One channel of 16-bit little-endian samples. */
export const speechRate = 24_000;

export interface Speaker {
  play(audio: Uint8Array): void;
  /** Stops what is not heard yet. */
  interrupt(): void;
  /** Resolves when everything has been heard, or written. */
  end(): Promise<void>;
  /** Drops the rest. Does nothing after `end`. */
  close(): Promise<void>;
}

/** @param file a WAV file. Default: a program plays */
export async function openSpeaker(file: string | undefined, signal: AbortSignal): Promise<Speaker> {
  return file === undefined ? new ProgramSpeaker(await startPlayer(signal), signal) : new FileSpeaker(file);
}

class FileSpeaker implements Speaker {
  readonly #parts = new PassThrough();
  readonly #written: Promise<void>;

  constructor(file: string) {
    this.#parts.on('error', () => undefined);
    this.#parts.write(wavHeader(speechRate, unknownLength));
    this.#written = writeWhole(file, this.#parts);
    this.#written.catch(() => undefined);
  }

  play(audio: Uint8Array): void {
    this.#parts.write(audio);
  }

  interrupt(): void {
    // The file has everything that was sent.
  }

  end(): Promise<void> {
    this.#parts.end();
    return this.#written;
  }

  async close(): Promise<void> {
    if (!this.#parts.writableEnded) this.#parts.destroy(new Error('the conversation has failed'));
    await this.#written.catch(() => undefined);
  }
}

/** The programs that play on Linux, best known first. */
const players: readonly (readonly [string, ...string[]])[] = [
  ['aplay', '-q', '-t', 'raw', '-f', 'S16_LE', '-c', '1', '-r', String(speechRate)],
  ['pacat', '--raw', '--format=s16le', '--channels=1', `--rate=${speechRate}`],
  ['play', '-q', '-t', 'raw', '-e', 'signed', '-b', '16', '-c', '1', '-r', String(speechRate), '-'],
];

async function startPlayer(signal: AbortSignal): Promise<ChildProcess> {
  const player = await startFirst(players, ['pipe', 'ignore', 'inherit'], signal);
  // A player that was killed does not take the rest.
  player?.stdin?.on('error', () => undefined);
  if (player) return player;
  throw new CliError(
    'No program plays sound here. Install one (apt-get install alsa-utils), or name a file: parley talk -o answers.wav',
  );
}

class ProgramSpeaker implements Speaker {
  readonly #signal: AbortSignal;
  #player: Promise<ChildProcess>;

  constructor(player: ChildProcess, signal: AbortSignal) {
    this.#player = Promise.resolve(player);
    this.#signal = signal;
  }

  play(audio: Uint8Array): void {
    void this.#player.then((player) => player.stdin?.write(audio));
  }

  /** Players have no command for it, so another one begins. */
  interrupt(): void {
    const next = this.#player.then((player) => {
      player.kill();
      return startPlayer(this.#signal);
    });
    next.catch(() => undefined);
    this.#player = next;
  }

  async end(): Promise<void> {
    const player = await this.#player;
    player.stdin?.end();
    if (player.exitCode === null && player.signalCode === null) await once(player, 'close');
  }
  async close(): Promise<void> {
    const player = await this.#player.catch(() => undefined);
    player?.kill();
  }
}
