import { ConsoleStdout, File, OpenFile, PreopenDirectory, WASI } from '@bjorn3/browser_wasi_shim';

export interface FliteRun {
  readonly stdout: string;
  /** What was written to the file `out.wav`, where the arguments name it. */
  readonly wav: Uint8Array | undefined;
}

/** The name of the file that `runFlite` gives back. */
export const wavFileName = 'out.wav';

/**
 * Runs the flite program once, in an instance of its own, and blocks until it is done: a millisecond a letter or so.
 * Arguments are printable ASCII: the shim sizes their memory by UTF-16 units and then writes UTF-8. Text goes behind
 * `-t`, which takes whatever follows it, `-lv` too, as the text; `-f` would split it into utterances with pauses of its own.
 * Throws where flite traps or exits with anything but 0.
 */
export function runFlite(module: WebAssembly.Module, args: readonly string[]): FliteRun {
  if (!args.every((arg) => /^[\x20-\x7e]*$/.test(arg))) throw new Error('flite takes printable ASCII only');
  const decoder = new TextDecoder();
  let stdout = '';
  let stderr = '';
  const out = new ConsoleStdout((bytes) => {
    stdout += decoder.decode(bytes);
  });
  const err = new ConsoleStdout((bytes) => {
    stderr += decoder.decode(bytes);
  });
  const folder = new PreopenDirectory('.', new Map());
  const wasi = new WASI(['flite', ...args], [], [new OpenFile(new File([])), out, err, folder], {
    debug: false,
  });
  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: wasi.wasiImport });
  const exitCode = wasi.start({ exports: commandExports(instance) });
  if (exitCode !== 0) throw new Error(`flite ended with ${exitCode}: ${stderr}`);
  const file = folder.dir.contents.get(wavFileName);
  return { stdout, wav: file instanceof File ? file.data : undefined };
}

function commandExports(instance: WebAssembly.Instance) {
  const { memory, _start: start } = instance.exports;
  if (!(memory instanceof WebAssembly.Memory) || typeof start !== 'function') {
    throw new Error('the flite module is not a WASI command');
  }
  return { memory, _start: () => start() };
}
