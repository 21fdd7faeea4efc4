import type { LiveMedia } from '../core/realtime/service.ts';
import { openDecoder, openEncoder } from '../media/raw-audio.ts';
import { openVoiceDetector } from '../media/voice-detector.ts';
import { uploadSpeaker } from './upload-speaker.ts';

export const liveMedia: LiveMedia = {
  openSpeaker: (engine) => engine.openSpeaker?.() ?? uploadSpeaker(engine),
  openDetector: openVoiceDetector,
  openDecoder,
  openEncoder,
};

export { rawAudio } from '../media/raw-audio.ts';
