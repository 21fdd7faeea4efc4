import { Pool } from 'undici';
import type { AudioFormat } from '../../src/core/ports/engines.ts';
import type { Served } from '../servers/child.ts';
import { voice } from './spoken-text.ts';

export interface SpeechRun {
  readonly firstByteMs: number;
  readonly totalMs: number;
  readonly cpuMs: number;
  readonly audio: Buffer;
}

export interface SpeechClient {
  /** Rejects unless the server says that the audio is whole. */
  speak(input: string, format: AudioFormat): Promise<SpeechRun>;
  /** The audio as it comes. */
  listen(input: string, format: AudioFormat, signal: AbortSignal): AsyncIterable<Buffer>;
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
