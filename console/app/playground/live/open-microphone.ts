/** The microphone as samples: 16 bits, one channel, 24 kHz, in parts of 100 ms. */
import captureUrl from './capture.worklet.js';

export interface AudioPart {
  readonly samples: Int16Array;
  /** The loudest sample, from 0 to 1. */
  readonly peak: number;
}

export interface OpenMicrophone {
  close(): void;
}

interface MicrophoneSettings {
  /** Whether the browser removes what it plays itself from the sound. */
  readonly echoCancellation: boolean;
}

/** Browsers give the microphone only to pages over TLS and from this machine. */
export const needsTls = navigator.mediaDevices === undefined;

/** Whatever the person must do before the microphone can be used, from the error of the browser. */
export function microphoneProblem(error: unknown): string {
  const name = error instanceof DOMException ? error.name : '';
  return problems[name] ?? `The microphone could not be used. ${error instanceof Error ? error.message : ''}`;
}

const problems: Readonly<Record<string, string>> = {
  NotAllowedError:
    'The browser may not use the microphone. Allow it for this page beside the address, then start again.',
  NotFoundError: 'No microphone was found. Connect one, then start again.',
  NotReadableError: 'The microphone is in use by another program. Close that, then start again.',
};

/**
 * Opens the microphone without other filters: recognisers make more mistakes with speech that a browser has made louder.
 * @param onPart called until `close`
 * @param onEnd called if the microphone ends by itself, as when it is unplugged
 * @throws the browser's error, for `microphoneProblem`
 */
export async function openMicrophone(
  { echoCancellation }: MicrophoneSettings,
  onPart: (part: AudioPart) => void,
  onEnd: () => void,
): Promise<OpenMicrophone> {
  const audio = { channelCount: 1, echoCancellation, noiseSuppression: false, autoGainControl: false };
  const stream = await navigator.mediaDevices.getUserMedia({ audio });
  const context = new AudioContext();
  const close = () => {
    for (const track of stream.getTracks()) track.stop();
    void context.close();
  };
  try {
    await context.audioWorklet.addModule(captureUrl);
  } catch (error) {
    close();
    throw error;
  }
  for (const track of stream.getTracks()) track.addEventListener('ended', onEnd);
  const capture = new AudioWorkletNode(context, 'capture', { numberOfOutputs: 0, channelCount: 1 });
  capture.port.onmessage = ({ data }: MessageEvent<AudioPart>) => onPart(data);
  context.createMediaStreamSource(stream).connect(capture);
  return { close };
}
