/** Says pieces of text in flite, one message a piece: answers with its samples, or the text of an error. */
import { parentPort, workerData } from 'node:worker_threads';
import type { FliteModule } from './module.ts';
import { FliteProgram } from './program.ts';
import { type SpokenPiece, synthesizePiece } from './synthesis.ts';

/** Samples of one channel, or why there are none. */
export type WorkerAnswer = { readonly samples: Int16Array } | { readonly failure: string };

const port = parentPort;
if (port === null) throw new Error('the flite worker runs as a worker thread only');
const { module, constants }: Partial<FliteModule> = workerData;
if (!(module instanceof WebAssembly.Module) || constants === undefined) {
  throw new Error('the flite worker takes the compiled module');
}
const flite = new FliteProgram({ module, constants });

port.on('message', (piece: SpokenPiece) => {
  try {
    const samples = synthesizePiece(flite, piece);
    port.postMessage({ samples } satisfies WorkerAnswer, [samples.buffer]);
  } catch (error) {
    // The instance is gone with the error; the next piece gets a new one.
    port.postMessage({ failure: String(error) } satisfies WorkerAnswer);
  }
});
