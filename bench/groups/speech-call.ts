import { Pool } from 'undici';
import type { AudioFormat } from '../../src/core/entities/engine.ts';
import { type Served, startChild } from '../servers/child.ts';

/** Debian's flite has this voice too. */
export const voice = 'rms';

const sentences = [
  'The harbour was quiet when the first boats came in before dawn.',
  'Nobody had slept, and the lamps along the quay were still burning.',
  'A boy counted the crates aloud, one after another, while his father signed for them.',
  'By noon the wind had turned, and with it the mood of everyone who lived from the sea.',
];

/** English prose, cut off at the given length. */
export function spokenText(characters: number): string {
  return `${sentences.join(' ')} `.repeat(Math.ceil(characters / 100)).slice(0, characters);
}

/** Starts Parley with its own engines and room for any number of listeners. */
export function startSpeechServer(): Promise<Served> {
  const settings = {
    engines: { builtin: { kind: 'builtin', speechQueueMax: 1_024 } },
    fairUse: { trialUnitsPerMonth: 1_000_000_000 },
  };
  return startChild('parley', [JSON.stringify(settings)]);
}

export interface SpeechRun {
  readonly firstByteMs: number;
  readonly totalMs: number;
  readonly cpuMs: number;
  readonly audio: Buffer;
}

export interface SpeechClient {
  /** Rejects unless the audio arrives in full. */
  speak(input: string, format: AudioFormat): Promise<SpeechRun>;
  /** Yields the audio as it arrives. */
  listen(input: string, format: AudioFormat, signal?: AbortSignal): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

export function openSpeechClient(server: Served, connections = 1): SpeechClient {
  const pool = new Pool(server.origin, { connections, headersTimeout: 0, bodyTimeout: 0 });
  const headers = { authorization: `Bearer ${server.key}` };
  async function* listen(input: string, format: AudioFormat, signal?: AbortSignal) {
    const body = JSON.stringify({ model: 'flite', voice, input, response_format: format });
    const path = '/api/v1/audio/speech';
    const answer = await pool.request({ method: 'POST', path, headers, body, signal: signal ?? null });
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${await answer.body.text()}`);
    yield* answer.body as AsyncIterable<Buffer>;
  }
  return {
    listen,
    async speak(input, format) {
      const [cpuMs, startedAt] = [await server.cpuMs(), performance.now()];
      const pieces: Buffer[] = [];
      let firstByteMs = Number.NaN;
      for await (const piece of listen(input, format)) {
        if (pieces.length === 0) firstByteMs = performance.now() - startedAt;
        pieces.push(piece);
      }
      const totalMs = performance.now() - startedAt;
      return { firstByteMs, totalMs, cpuMs: (await server.cpuMs()) - cpuMs, audio: Buffer.concat(pieces) };
    },
    close: () => pool.close(),
  };
}
