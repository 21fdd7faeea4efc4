import { InterruptibleStream } from './encode-interruptible.ts';
import { PcmSlicer } from './encode-slices.ts';
import { PcmReader, type PcmSource } from './encode-source.ts';
import type { ThreadEncoder } from './encode-thread.ts';

/**
 * Sends the source slice by slice to a thread and yields what comes back. Only a pull moves it: the next slice goes
 * out when the reader wants more than the last one gave, and the next chunk is asked for when all slices went out.
 * The file's header leaves with the first samples, so that an engine that fails before them has sent nothing.
 */
export function encodeOnThread(
  open: () => ThreadEncoder,
  source: PcmSource,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const pcm = new PcmReader(source);
  let opened: ThreadEncoder | undefined;
  return new InterruptibleStream(signal, {
    async *run(wait) {
      // Before the first chunk is there: the thread gets its codec ready while the engine works.
      const encoder = open();
      opened = encoder;
      const slicer = new PcmSlicer(source.sampleRate);
      for (let chunk = await wait(pcm.next()); chunk !== undefined; chunk = await wait(pcm.next())) {
        slicer.push(chunk);
        for (let slice = slicer.take(); slice !== undefined; slice = slicer.take()) {
          const bytes = await wait(encoder.encode(slice));
          if (bytes.length > 0) yield bytes;
        }
      }
      const end = await wait(encoder.finish(slicer.rest()));
      if (end.length > 0) yield end;
    },
    release() {
      pcm.close();
      opened?.close();
    },
  });
}
