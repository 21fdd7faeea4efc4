import type { Voice } from '../../../core/ports/engines.ts';

export interface FliteVoice extends Voice {
  /** Of the PCM that flite gives, in Hz. */
  readonly sampleRate: number;
}

/**
 * The voices inside the module that can say anything. `flite -lv` also names `awb_time`, which knows the words of a clock
 * and no others. Languages are facts about the speakers, which the module does not tell; awb speaks Scottish English.
 */
export const fliteVoices: readonly FliteVoice[] = [
  { id: 'rms', language: 'en-US', sampleRate: 16_000 },
  { id: 'slt', language: 'en-US', sampleRate: 16_000 },
  { id: 'awb', language: 'en-GB', sampleRate: 16_000 },
  { id: 'kal16', language: 'en-US', sampleRate: 16_000 },
  { id: 'kal', language: 'en-US', sampleRate: 8_000 },
];

/**
 * rms and slt are made the same way and sound alike in quality; pocketsphinx read back 2.3 % of the words of rms wrong
 * and 6.8 % of slt (awb 3.8 %, kal16 4.5 %, kal 25 %; 133 words), so the clearer of the two speaks by default.
 */
export const defaultFliteVoice = 'rms';
