/** Holds an answer to what was asked for: a client believes the Content-Type that it gets from here. */
import type { AudioFormat } from '../../core/ports/engines.ts';
import type { UpstreamAnswer } from './upstream-answer.ts';

/** Types of audio that do not begin with `audio/`; some servers name none. */
const plainTypes: readonly string[] = [
  '',
  'application/octet-stream',
  'binary/octet-stream',
  'application/ogg',
];

/** With what files of a format begin; raw PCM has no mark, and MP3 may do without. */
const marks: readonly (readonly [string, AudioFormat])[] = [
  ['RIFF', 'wav'],
  ['fLaC', 'flac'],
  ['OggS', 'opus'],
  ['ID3', 'mp3'],
];
const markBytes = 4;

/**
 * The audio of an answer as it comes in, from its first bytes on.
 * @throws `upstream_error` where it is no audio, or plainly audio of another format; before anything is given
 */
export async function* checkedAudio(
  answer: UpstreamAnswer,
  format: AudioFormat,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { contentType } = answer;
  if (!contentType.startsWith('audio/') && !plainTypes.includes(contentType)) {
    throw answer.refuse(`the answer is ${contentType}, not audio`);
  }
  let head: Uint8Array | undefined = new Uint8Array();
  for await (const bytes of answer.body) {
    if (head === undefined) {
      yield bytes;
      continue;
    }
    head = head.length === 0 ? bytes : Buffer.concat([head, bytes]);
    if (head.length < markBytes) continue;
    refuseOtherFormat(answer, head, format);
    yield head;
    head = undefined;
  }
  if (head !== undefined && head.length > 0) yield head;
}

function refuseOtherFormat(answer: UpstreamAnswer, head: Uint8Array, format: AudioFormat): void {
  const begin = Buffer.from(head.subarray(0, markBytes)).toString('latin1');
  const [, found] = marks.find(([mark]) => begin.startsWith(mark)) ?? [];
  if (found !== undefined && found !== format) {
    throw answer.refuse(`the answer is ${found}, where ${format} was asked for`);
  }
}
