/** Keeps sounds without speech from becoming words: the model makes some of everything. */
import { frameMs, liveSampleRate, type VoiceDetector } from '../../../core/entities/live.ts';
import type { RecognisedText } from './model.ts';

const frameSamples = (frameMs * liveSampleRate) / 1000;
/** A word of 200 ms has this many frames of voice in a row; clicks and hiss have fewer. */
const voicedFramesMin = 5;
/** Speech has -0.02 to -0.65, silence and noise -0.7 to -1.5. */
const logProbabilityMin = -0.7;
/** Texts of tones and chimes, which the model believes. Speech ends with a full stop. */
const textsOfSounds: ReadonlySet<string> = new Set([
  'You',
  'Thank you for watching!',
  'Thanks for watching!',
]);

/** @param samples 16 kHz mono */
export function hasVoice(samples: Int16Array, detector: VoiceDetector): boolean {
  let inRow = 0;
  for (let at = 0; at + frameSamples <= samples.length; at += frameSamples) {
    inRow = detector.isSpeech(samples.subarray(at, at + frameSamples)) ? inRow + 1 : 0;
    if (inRow >= voicedFramesMin) return true;
  }
  return false;
}

/** The spoken part of a text; empty if it is not speech. */
export function spokenText({ text, logProbability }: RecognisedText): string {
  const isSound = logProbability < logProbabilityMin || textsOfSounds.has(text) || /[♪♫🎵🎶]/u.test(text);
  return isSound ? '' : text;
}
