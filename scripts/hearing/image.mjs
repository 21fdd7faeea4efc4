/**
 * Loads the recogniser's model once, and writes the memory of that instance to a file. An instance that starts with this
 * memory has its model, without a second of work and without files.
 *
 *   node scripts/hearing/image.mjs RECOGNISER MODEL IMAGE
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const [, , recogniser = '', model = '', image = ''] = process.argv;

/** As in the Makefile. The stack lies at the start of the memory. */
const stackBytes = 1_048_576;

const wasi = new WASI({ version: 'preview1', preopens: { '/model': model } });
const imports = {
  ...wasi.wasiImport,
  /** A clock that stands still, as the same model must give the same image. */
  clock_time_get: () => 0,
};
const module = new WebAssembly.Module(readFileSync(recogniser));
const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: imports });
wasi.initialize(instance);
const { memory, load } = instance.exports;
if (!(memory instanceof WebAssembly.Memory) || typeof load !== 'function')
  throw new Error(`${recogniser} is not the recogniser.`);
if (load() !== 0) throw new Error(`The recogniser does not accept the model in ${model}.`);
const content = new Uint8Array(memory.buffer);
// Nothing runs any more. Left on the stack are the dates and numbers of files.
content.fill(0, 0, stackBytes);
writeFileSync(image, content);
