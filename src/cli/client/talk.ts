/** A conversation with a server: speech to it, and its speech to a speaker. */
import { Resampler } from '../../media/encoders/resample.ts';
import { CliError } from '../terminal/command.ts';
import type { LiveAudio } from './live-audio.ts';
import type { RealtimeConnection, RealtimeEvent } from './realtime-connection.ts';
import { type Speaker, speechRate } from './speaker.ts';

export interface TalkOptions {
  /** Milliseconds. */
  readonly silence: number;
  readonly voice?: string;
  readonly instructions?: string;
}

/** A turn of the user or the assistant, as text. */
export interface Utterance {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

/** The server answers so long after the last sample at most, as no other event says that none will follow. */
const graceMs = 250;
const bytesPerMs = (2 * speechRate) / 1000;

export class Talk {
  readonly #connection: RealtimeConnection;
  readonly #speaker: Speaker;
  readonly #audio: LiveAudio;
  readonly #options: TalkOptions;
  /** Turns and responses that are not done. */
  #open = 0;
  #updates = 0;
  #timer: NodeJS.Timeout | undefined;
  /** The message that is played now. */
  #playing: { readonly id: string; readonly startedAt: number; ms: number } | undefined;

  constructor(connection: RealtimeConnection, speaker: Speaker, audio: LiveAudio, options: TalkOptions) {
    this.#connection = connection;
    this.#speaker = speaker;
    this.#audio = audio;
    this.#options = options;
  }

  /** Yields what is said, until all of the audio has its answers. @throws CliError */
  async *run(): AsyncGenerator<Utterance> {
    let sending: Promise<void> | undefined;
    for await (const event of this.#connection.events()) {
      const utterance = this.#take(event);
      if (utterance) yield utterance;
      // The settings apply from here on.
      if (event.type === 'session.updated') sending ??= this.#send();
      this.#endWhenDone();
    }
    if (!this.#isDone) throw new CliError('The server closed the connection. Try again.');
    await sending;
    await this.#speaker.end();
  }

  #configure(session: RealtimeEvent): void {
    if (session['output_modalities'] === undefined) {
      throw new CliError(
        'The server has no such conversation model. Its operator can add one in parley.yaml, under `realtime`.',
      );
    }
    const { silence, voice, instructions } = this.#options;
    const input = { turn_detection: { type: 'server_vad', silence_duration_ms: silence } };
    const audio = { input, ...(voice && { output: { voice } }) };
    void this.#update({ type: 'realtime', audio, ...(instructions && { instructions }) });
  }

  #update(session: object): Promise<void> {
    return this.#connection.send({ type: 'session.update', session });
  }

  /** Ends with silence, which ends the last turn. */
  async #send(): Promise<void> {
    const { sampleRate, parts } = this.#audio;
    const resampler = sampleRate === speechRate ? undefined : new Resampler(sampleRate, speechRate);
    for await (const part of parts) {
      const samples = new Int16Array(new Uint8Array(part).buffer, 0, part.length >> 1);
      await this.#append(resampler ? resampler.process(samples) : samples);
    }
    await this.#append(new Int16Array(((this.#options.silence + 500) * bytesPerMs) / 2));
    // Its answer follows those about the audio.
    await this.#update({});
  }

  #append({ buffer, byteOffset, byteLength }: Int16Array): Promise<void> {
    const audio = Buffer.from(buffer, byteOffset, byteLength).toString('base64');
    return this.#connection.send({ type: 'input_audio_buffer.append', audio });
  }

  #take(event: RealtimeEvent): Utterance | undefined {
    switch (event.type) {
      case 'session.created':
        this.#configure(event['session']);
        break;
      case 'session.updated':
        this.#updates++;
        break;
      case 'input_audio_buffer.speech_started':
        this.#open++;
        this.#interrupt();
        break;
      case 'response.created':
        this.#open++;
        break;
      case 'response.output_audio.delta':
        this.#play(event['item_id'], Buffer.from(event['delta'], 'base64'));
        break;
      case 'conversation.item.input_audio_transcription.completed':
        this.#open--;
        return event['transcript'] === '' ? undefined : { role: 'user', text: event['transcript'] };
      case 'conversation.item.input_audio_transcription.failed':
      case 'error':
        throw failed(event['error']);
      case 'response.done':
        this.#open--;
        return answerOf(event['response']);
    }
    return undefined;
  }

  #play(id: string, audio: Uint8Array): void {
    if (this.#playing?.id !== id) this.#playing = { id, startedAt: performance.now(), ms: 0 };
    this.#playing.ms += audio.length / bytesPerMs;
    this.#speaker.play(audio);
  }

  /** The history keeps only what was played. */
  #interrupt(): void {
    if (this.#playing === undefined) return;
    const { id, startedAt, ms } = this.#playing;
    const playedMs = Math.round(Math.min(ms, performance.now() - startedAt));
    this.#playing = undefined;
    if (playedMs >= ms) return;
    this.#speaker.interrupt();
    const place = { item_id: id, content_index: 0, audio_end_ms: playedMs };
    void this.#connection.send({ type: 'conversation.item.truncate', ...place });
  }

  get #isDone(): boolean {
    return this.#updates === 2 && this.#open === 0;
  }

  #endWhenDone(): void {
    clearTimeout(this.#timer);
    if (this.#isDone) this.#timer = setTimeout(() => this.#connection.close(), graceMs);
  }
}

function answerOf({ status, status_details, output }: RealtimeEvent): Utterance | undefined {
  if (status === 'failed') throw failed(status_details.error);
  const parts: readonly RealtimeEvent[] = output.flatMap((item: RealtimeEvent) => item['content'] ?? []);
  const text = parts.map((part) => part['transcript'] ?? part['text'] ?? '').join('');
  return text === '' ? undefined : { role: 'assistant', text };
}

function failed({ message, code }: { readonly message: string; readonly code: string }): CliError {
  return new CliError(`${message} (${code})`);
}
