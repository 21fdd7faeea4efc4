/** Speech of one person and its words. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { samplesOfWav, speak } from '../../test/support/audio-files.ts';
import { wordErrors } from '../../test/support/word-errors.ts';

export interface Spoken {
  readonly words: string;
  /** 16 kHz. */
  readonly samples: Int16Array;
}

/** The first two lists of the Harvard sentences. */
const sentences = `the birch canoe slid on the smooth planks, glue the sheet to the dark blue background,
it is easy to tell the depth of a well, these days a chicken leg is a rare dish, rice is often served in round bowls,
the juice of lemons makes fine punch, the box was thrown beside the parked truck,
the hogs were fed chopped corn and garbage, four hours of steady work faced us, a large size in stockings is hard to sell,
the boy was there when the sun rose, a rod is used to catch pink salmon, the source of the huge river is the clear spring,
kick the ball straight and follow through, help the woman get back to her feet, a pot of tea helps to pass the evening,
smoky fires lack flame and heat, the soft cushion broke the man's fall, the salt breeze came across from the sea,
the girl at the booth sold fifty bonds`.split(/,\s/);

export const sentencesOf = (isShort: boolean): readonly string[] =>
  sentences.slice(0, isShort ? 2 : undefined);

export const speakSentences = (count = sentences.length): Promise<Spoken[]> =>
  Promise.all(sentences.slice(0, count).map(async (words) => ({ words, samples: await speak(words) })));

/** The recordings of LibriVox in Debian's `pocketsphinx-testdata`; none where it is not installed. */
export function readRecordings(): Spoken[] {
  const folder = '/usr/share/pocketsphinx/test/data/librivox';
  const list = join(folder, 'transcription');
  const lines = existsSync(list) ? readFileSync(list, 'utf8').matchAll(/<s> (.+) <\/s> \((.+)\)/g) : [];
  const read = (name: string) => samplesOfWav(readFileSync(join(folder, `${name}.wav`)));
  return Array.from(lines, ([, words = '', name = '']) => ({ words, samples: read(name) }));
}

/** The words that were heard right, in percent. */
export function rightShare(
  spoken: readonly Pick<Spoken, 'words'>[],
  heard: readonly { readonly text: string }[],
): number {
  const words = spoken.flatMap(({ words: said }) => said.split(' ')).length;
  const wrong = spoken.reduce((sum, said, at) => sum + wordErrors(said.words, heard[at]?.text ?? ''), 0);
  return 100 * (1 - wrong / words);
}
