interface Clause {
  readonly text: string;
  readonly isQuestion: boolean;
}

/** Only the last clauses of a message are read. */
const clausesMax = 24;

/** A full stop within a word, as in `parley.yaml`, does not end a clause. */
const clauseEnd = /((?<![.!?;:,])[.!?;:,]+(?=\s|$)|[\r\n]+|\s-\s|\bbut\b)/i;

/** The clauses of a message, without punctuation. */
export function clausesOf(text: string): readonly Clause[] {
  const plain = text.replace(/[\u2018\u2019\u02bc]/g, "'").replace(/[^\p{L}\p{M}\p{N}\s.!?;:,'+*/=-]/gu, ' ');
  const parts = plain.split(clauseEnd);
  const clauses: Clause[] = [];
  for (let at = 0; at < parts.length; at += 2) {
    const words = (parts[at] ?? '').replace(/\s+/g, ' ').trim();
    if (words !== '') clauses.push({ text: words, isQuestion: parts[at + 1]?.includes('?') === true });
  }
  return clauses.slice(-clausesMax);
}

const common = (list: string): ReadonlySet<string> => new Set(list.split(' '));

const englishWords = common(
  "a the i i'm you he she we they it is are am was be my your me of to in and or that this what who how why do not with have has for hello hi yes please thanks",
);

/** Short words of German, French, Spanish, Italian, Portuguese and Dutch that are not English words. */
const otherWords = common(
  'ich du bin bist nicht und ist das wie mir mich ein eine hallo danke je tu suis est les une des pas vous bonjour merci moi que el los las una muy estoy soy hola gracias yo ciao sono che il non io grazie ol\u00e1 eu voc\u00ea n\u00e3o uma obrigado ik ben niet het een',
);

type Language = 'english' | 'other' | 'none';

/** `other` for text in mostly non-Latin letters, or with words of other languages and no English ones; `none` for text without letters. */
export function languageOf(text: string): Language {
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  if (letters === 0) return 'none';
  const latin = text.match(/\p{Script=Latin}/gu)?.length ?? 0;
  if (latin * 2 < letters) return 'other';
  const words = text.toLowerCase().match(/[\p{L}\p{M}']+/gu) ?? [];
  const foreign = words.filter((word) => otherWords.has(word)).length;
  const english = words.filter((word) => englishWords.has(word)).length;
  return foreign * 4 >= words.length && english === 0 ? 'other' : 'english';
}
