import type { CreateTranscriptionRequest } from '../../../gen/parley/audio/v1/transcription_pb.ts';
import type { KnownSpeaker } from '../entities/engine.ts';
import { hasLength } from '../values/bounds.ts';
import { ParleyError } from '../values/errors.ts';

/** OpenAI's own limit. */
const speakersMax = 4;
const nameLength = { minLength: 1, maxLength: 100 };
const dataUrl = /^data:audio\/[\w.+-]+(;[^,]*)?;base64,/;

/** @throws `invalid_input`, naming the parameter */
export function readKnownSpeakers(request: CreateTranscriptionRequest): readonly KnownSpeaker[] {
  const { knownSpeakerNames: names, knownSpeakerReferences: references } = request;
  const flawed = (param: string, message: string) => new ParleyError('invalid_input', { message, param });
  if (names.length > speakersMax || !names.every((name) => hasLength(name, nameLength))) {
    const message = `\`known_speaker_names\` takes at most ${speakersMax} names of 1 to ${nameLength.maxLength} characters.`;
    throw flawed('known_speaker_names', message);
  }
  if (references.length !== names.length) {
    const message = '`known_speaker_references` needs as many recordings as `known_speaker_names` has names.';
    throw flawed('known_speaker_references', message);
  }
  if (!references.every((reference) => dataUrl.test(reference))) {
    const message = '`known_speaker_references` takes data URLs such as data:audio/wav;base64,….';
    throw flawed('known_speaker_references', message);
  }
  return names.map((name, at) => ({ name, reference: references[at] ?? '' }));
}
