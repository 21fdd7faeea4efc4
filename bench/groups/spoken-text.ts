const sentences = [
  'The harbour was quiet when the first boats came in before dawn.',
  'Nobody had slept, and the lamps along the quay were still burning.',
  'A boy counted the crates aloud, one after another, while his father signed for them.',
  'By noon the wind had turned, and with it the mood of everyone who lived from the sea.',
];

/** So many characters of English prose, the last sentence cut off where it has to be. */
export function spokenText(characters: number): string {
  return `${sentences.join(' ')} `.repeat(Math.ceil(characters / 100)).slice(0, characters);
}

/** A voice that Debian's flite has, too. */
export const voice = 'rms';
