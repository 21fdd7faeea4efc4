/** An encoder thread: a session is a file, its tasks open the encoder and then encode slice by slice. */
import { serveTasks } from '../../threads/serve-tasks.ts';
import { type Encoder, joinBytes, type OwnedBytes } from '../encoders/encoder.ts';
import { type ComputedFormat, openEncoder } from '../encoders/open.ts';

export type EncodeTask =
  | { readonly kind: 'open'; readonly format: ComputedFormat; readonly sampleRate: number }
  /** With `isLast`, the result includes the end of the file. */
  | { readonly kind: 'encode'; readonly samples: Int16Array; readonly isLast: boolean };

const encoders = new Map<number, Promise<Encoder>>();

serveTasks<EncodeTask, OwnedBytes>({
  async run(task, session) {
    if (task.kind === 'open') {
      const opening = openEncoder(task.format, task.sampleRate);
      encoders.set(session, opening);
      await opening;
      return new Uint8Array(0);
    }
    const encoder = await encoders.get(session);
    if (encoder === undefined) throw new Error('the session has no encoder');
    const bytes = encoder.encode(task.samples);
    return task.isLast ? joinBytes([bytes, encoder.finish()]) : bytes;
  },
  transfer: (bytes) => [bytes.buffer],
  async close(session) {
    const opening = encoders.get(session);
    encoders.delete(session);
    // An encoder that failed to open holds nothing.
    const encoder = await opening?.catch(() => undefined);
    encoder?.free();
  },
});
