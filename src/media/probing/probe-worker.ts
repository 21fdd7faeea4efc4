/** The thread that reads durations. A hostile file may keep it busy; the pool then ends it. */
import { serveTasks } from '../../threads/serve-tasks.ts';
import { Decoder, type EncodedFile } from '../decoding/decoder.ts';

export type ProbeTask = EncodedFile<Uint8Array> & { readonly module: WebAssembly.Module };

serveTasks({ run: ({ module, ...file }: ProbeTask) => new Decoder(module, file).countedMs() });
