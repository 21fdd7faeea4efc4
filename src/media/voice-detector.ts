/** Live voice activity: libfvad, the detector of WebRTC, in WebAssembly. */
import { frameMs, liveSampleRate, type VoiceDetector } from '../core/entities/live.ts';
import { readFvad } from './fvad-file.ts';

const frameSamples = (frameMs * liveSampleRate) / 1000;
/** 0 to 3; a higher mode accepts less as speech. Mode 2 found all turns of recorded and synthetic voices. */
const mode = 2;

/** The functions of the package, by the short names that its build gave them; the version is pinned. */
interface Fvad {
  readonly initialise: () => void;
  readonly allocate: (bytes: number) => number;
  readonly create: () => number;
  readonly free: (detector: number) => void;
  readonly setMode: (detector: number, mode: number) => number;
  readonly setSampleRate: (detector: number, rate: number) => number;
  /** 1 for speech, 0 for none, -1 for a frame of a wrong length. */
  readonly process: (detector: number, samples: number, count: number) => number;
  readonly memory: WebAssembly.Memory;
}

interface Shared {
  readonly fvad: Fvad;
  readonly frameAt: number;
}

let shared: Promise<Shared> | undefined;

/** All detectors share one instance, which reserves 16 MiB; a detector takes under 1 KiB of it. */
export async function openVoiceDetector(): Promise<VoiceDetector> {
  shared ??= start();
  const { fvad, frameAt } = await shared;
  const detector = fvad.create();
  if (detector === 0) throw new Error('the voice detector has no memory left');
  fvad.setMode(detector, mode);
  fvad.setSampleRate(detector, liveSampleRate);
  let isOpen = true;
  return {
    isSpeech(frame) {
      if (!isOpen) return false;
      new Int16Array(fvad.memory.buffer, frameAt, frameSamples).set(frame);
      return fvad.process(detector, frameAt, frameSamples) === 1;
    },
    close() {
      if (isOpen) fvad.free(detector);
      isOpen = false;
    },
  };
}

async function start(): Promise<Shared> {
  const stop = () => {
    throw new Error('the voice detector has stopped');
  };
  // The memory of the module never grows.
  const imports = { a: { a: stop, b: () => 0 } };
  const { exports } = new WebAssembly.Instance(await WebAssembly.compile(await readFvad()), imports);
  const { c, d, e, f, h, j, k, l } = exports as Record<string, never>;
  const fvad: Fvad = {
    memory: c ?? stop(),
    initialise: d ?? stop(),
    create: e ?? stop(),
    allocate: f ?? stop(),
    free: h ?? stop(),
    setMode: j ?? stop(),
    setSampleRate: k ?? stop(),
    process: l ?? stop(),
  };
  fvad.initialise();
  return { fvad, frameAt: fvad.allocate(frameSamples * Int16Array.BYTES_PER_ELEMENT) };
}
