/** Worker thread that reads durations. The pool ends it if a hostile file keeps it busy. */
import { serveTasks } from '../../threads/serve-tasks.ts';
import { Decoder, type EncodedFile } from '../decoding/decoder.ts';

export type ProbeTask = EncodedFile<Uint8Array> & { readonly module: WebAssembly.Module };

serveTasks({ run: ({ module, ...file }: ProbeTask) => new Decoder(module, file).countedMs() });
