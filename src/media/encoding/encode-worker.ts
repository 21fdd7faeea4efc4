/** Entry of an encoder thread: it holds the encoders of several streams and works on one slice after the other. */
import { parentPort } from 'node:worker_threads';
import { type Encoder, joinBytes, type OwnedBytes } from '../encoders/encoder.ts';
import { openEncoder } from '../encoders/open.ts';
import type { FromEncoderThread, ToEncoderThread } from './encode-messages.ts';

if (parentPort === null) throw new Error('encode-worker runs only as a worker thread');
const port = parentPort;
const encoders = new Map<number, Promise<Encoder>>();

port.on('message', (message: ToEncoderThread) => {
  switch (message.kind) {
    case 'open': {
      const opening = openEncoder(message.format, message.sampleRate);
      // Where it fails, the answer to the stream's first samples tells; until then nobody waits for it.
      opening.catch(() => undefined);
      encoders.set(message.stream, opening);
      break;
    }
    case 'encode':
      void answer(message.stream, message.samples, message.isLast);
      break;
    case 'close':
      void close(message.stream);
      break;
  }
});

async function answer(stream: number, samples: Int16Array, isLast: boolean): Promise<void> {
  try {
    const encoder = await encoders.get(stream);
    if (encoder === undefined) throw new Error('the stream is not open');
    const bytes = encodeSlice(encoder, samples, isLast);
    post({ kind: 'encoded', stream, bytes }, [bytes.buffer]);
  } catch (error) {
    // A codec whose WebAssembly broke off may be broken for every stream after: end the thread, another takes over.
    if (error instanceof Error && error.name === 'RuntimeError') throw error;
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    post({ kind: 'failed', stream, reason });
  }
}

function encodeSlice(encoder: Encoder, samples: Int16Array, isLast: boolean): OwnedBytes {
  const bytes = encoder.encode(samples);
  return isLast ? joinBytes([bytes, encoder.finish()]) : bytes;
}

async function close(stream: number): Promise<void> {
  const opening = encoders.get(stream);
  encoders.delete(stream);
  // An encoder that could not be opened holds nothing, and its stream was told.
  const encoder = await opening?.catch(() => undefined);
  encoder?.free();
}

function post(message: FromEncoderThread, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}
