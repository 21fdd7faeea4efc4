/** `json` for a server that sends no times, `diarized_json` for one that identifies speakers. */
export type TranscriptionFormat = 'verbose_json' | 'json' | 'diarized_json';

/** Whether transcripts of a format have times and speakers. Undefined: only the other server knows. */
export const reportedIn = (format: TranscriptionFormat | undefined) => ({
  reportsTimes: format !== 'json',
  reportsSpeakers: format && format === 'diarized_json',
});
