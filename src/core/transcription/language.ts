/** Hints about the languages of a recording. */
import type { CreateTranscriptionRequest } from '../../../gen/parley/audio/v1/transcription_pb.ts';

/** Clients that let the user choose a language send `auto` for none. Models take a tag or nothing. */
export function namedLanguage(language: string | undefined): string | undefined {
  return language?.toLowerCase() === 'auto' ? undefined : language;
}

/** A list of one is the same as `language`, which more engines understand. */
export function languageHints({ language, languages }: CreateTranscriptionRequest) {
  const [only, ...others] = languages.filter((each) => namedLanguage(each) !== undefined);
  const named = namedLanguage(language);
  return only === undefined || others.length === 0
    ? { language: named ?? only }
    : { language: named, languages: [only, ...others] };
}
