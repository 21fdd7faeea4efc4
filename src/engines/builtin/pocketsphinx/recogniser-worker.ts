/** Worker thread of pocketsphinx with its English model, in WebAssembly: 90 MB. Takes an utterance, returns its words. */
import { readRecogniserImage } from '../../../media/hearing-files.ts';
import { WasmInstance } from '../../../media/wasm-instance.ts';
import { serveTasks } from '../../../threads/serve-tasks.ts';
import type { RecognisedWord } from '../../recordings/transcript.ts';

export interface RecognitionTask {
  readonly module: WebAssembly.Module;
  /** 16 kHz mono. */
  readonly samples: Int16Array;
}

let recogniser: Promise<WasmInstance> | undefined;

serveTasks<RecognitionTask, readonly RecognisedWord[]>({
  async run({ module, samples }) {
    recogniser ??= start(module);
    return recognise(await recogniser, samples);
  },
});

/** Loads the memory of an instance that has loaded the model, which starts ten times faster. */
async function start(module: WebAssembly.Module): Promise<WasmInstance> {
  const instance = new WasmInstance(module);
  let filled = 0;
  for await (const part of readRecogniserImage()) {
    instance.growTo(filled + part.length);
    instance.bytes.set(part, filled);
    filled += part.length;
  }
  return instance;
}

function recognise(instance: WasmInstance, samples: Int16Array): RecognisedWord[] {
  const pointer = instance.call('allocate', samples.byteLength);
  instance.bytes.set(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength), pointer);
  step(instance, 'begin');
  step(instance, 'feed', pointer, samples.length, 1);
  step(instance, 'finish');
  instance.call('release', pointer);
  const lines = instance.textAt(instance.call('words')).split('\n');
  return lines.slice(0, -1).map(readWord);
}

/** Calls a function of the recogniser. Throws if it fails. */
function step(instance: WasmInstance, name: string, ...args: readonly number[]): void {
  const code = instance.call(name, ...args);
  if (code < 0) throw new Error(`the recogniser failed to ${name} with ${code}`);
}

/** Milliseconds in a frame of the recogniser. */
const frameMs = 10;

/** @param line `word first last probability`, in frames. Throws on any other form. */
function readWord(line: string): RecognisedWord {
  const [word = '', ...numbers] = line.split(' ');
  const [first = Number.NaN, last = Number.NaN, probability = Number.NaN] = numbers.map(Number);
  if (!(first >= 0 && last >= first && probability >= 0)) {
    throw new Error(`the recogniser gave an unexpected line: ${line}`);
  }
  // The recogniser rounds, and sometimes gives 1.001.
  return {
    word,
    startMs: first * frameMs,
    endMs: (last + 1) * frameMs,
    probability: Math.min(1, probability),
  };
}
