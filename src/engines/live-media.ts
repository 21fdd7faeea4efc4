import type { LiveMedia } from '../core/realtime/service.ts';
import { loadFilter } from '../media/encoders/resample-filter.ts';
import { decoderOpener, encoderOpener } from '../media/raw-audio.ts';
import { openVoiceDetector } from '../media/voice-detector.ts';
import { uploadSpeaker } from './upload-speaker.ts';

export const liveMedia: LiveMedia = {
  openSpeaker: (engine) => engine.openSpeaker?.() ?? uploadSpeaker(engine),
  openDetector: openVoiceDetector,
  loadCodecs: async () => {
    const run = await loadFilter();
    return { openDecoder: decoderOpener(run), openEncoder: encoderOpener(run) };
  },
};

export { rawAudio } from '../media/raw-audio.ts';
