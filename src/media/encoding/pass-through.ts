import type { AudioFormat } from '../../core/entities/engine.ts';
import type { Signal } from '../../core/values/signal.ts';
import { littleEndianBytes, pcmSampleRate } from '../encoders/pcm.ts';
import { unknownLength, wavHeader } from '../encoders/wav.ts';
import { InterruptibleStream, type Wait } from './interruptible-stream.ts';
import { PcmReader, type PcmSource } from './pcm-source.ts';

/** Whether the format accepts the samples at this rate unchanged, so that no thread is needed. */
export function passesThrough(format: AudioFormat, sampleRate: number): format is 'wav' | 'pcm' {
  return format === 'wav' || (format === 'pcm' && sampleRate === pcmSampleRate);
}

/** The source's bytes without a copy, after a header if the format has one. */
export function passThrough(
  format: 'wav' | 'pcm',
  source: PcmSource,
  signal: Signal,
): AsyncIterable<Uint8Array> {
  const pcm = new PcmReader(source);
  return new InterruptibleStream(signal, {
    run: (wait) => (format === 'wav' ? wavBytes(pcm, source.sampleRate, wait) : pcmBytes(pcm, wait)),
    release: () => pcm.close(),
  });
}

/**
 * The header waits for the first samples, so that nothing has been sent when an engine fails before them. Without
 * samples it states length 0.
 */
async function* wavBytes(
  pcm: PcmReader,
  sampleRate: number,
  wait: Wait,
): AsyncGenerator<Uint8Array, void, undefined> {
  let hasStarted = false;
  for await (const bytes of pcmBytes(pcm, wait)) {
    if (!hasStarted) yield wavHeader(sampleRate, unknownLength);
    hasStarted = true;
    yield bytes;
  }
  if (!hasStarted) yield wavHeader(sampleRate, 0);
}

async function* pcmBytes(pcm: PcmReader, wait: Wait): AsyncGenerator<Uint8Array, void, undefined> {
  for (let chunk = await wait(pcm.next()); chunk !== undefined; chunk = await wait(pcm.next())) {
    if (chunk.length > 0) yield littleEndianBytes(chunk);
  }
}
