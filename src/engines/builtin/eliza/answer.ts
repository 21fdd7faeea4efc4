/** Chooses the answer to the last message of the user. The same messages always get the same answer. */
import type { ChatMessage, MessageContent } from '../../../../gen/parley/chat/v1/chat_pb.ts';
import { type Answers, fallback, rules, withoutWords } from './rules.ts';

/** Only the end of a message is read, in UTF-16 code units and in clauses. */
const textUnitsMax = 1000;
const clausesMax = 24;

/** A full stop within a word, as in `parley.yaml`, does not end a clause. */
const clauseEnd = /(?<![.!?;:,])[.!?;:,]+(?=\s|$)|[\r\n]+|\s-\s|\bbut\b/i;

/** Further messages and further choices get the next answers of a rule, then the first again. */
export function answersTo(messages: readonly ChatMessage[]): (choice: number) => string {
  const users = messages.filter(({ role }) => role === 'user');
  const text = textsOf(users.at(-1)?.content).join('\n').slice(-textUnitsMax);
  const { answers, it } = match(text);
  const earlier = Math.max(0, users.length - 1);
  return (choice) => {
    const answer = answers[(earlier + choice) % answers.length] ?? answers[0];
    return answer.replace('{it}', () => it);
  };
}

/** The texts of a message: its string, or each of its text parts. */
export function textsOf(content: MessageContent | undefined): readonly string[] {
  if (content?.value.case === 'text') return [content.value.value];
  if (content?.value.case !== 'parts') return [];
  return content.value.value.items.flatMap((part) => part.text ?? []);
}

function match(text: string): { readonly answers: Answers; readonly it: string } {
  if (!/\p{L}/u.test(text)) return { answers: withoutWords, it: '' };
  const plain = text.replace(/[\u2018\u2019\u02bc]/g, "'").replace(/[^\p{L}\p{M}\p{N}\s.!?;:,'+*/=-]/gu, ' ');
  const clauses = plain
    .split(clauseEnd)
    .map((clause) => clause.replace(/\s+/g, ' ').trim())
    .filter((clause) => clause !== '')
    .slice(-clausesMax);
  for (const { pattern, answers } of rules) {
    for (const clause of clauses) {
      const found = pattern.exec(clause);
      if (found !== null) return { answers, it: reflect(found.groups?.['it'] ?? '') };
    }
  }
  return { answers: fallback, it: '' };
}

const swaps: Readonly<Record<string, string>> = {
  'i am': 'you are',
  "i'm": 'you are',
  'am i': 'are you',
  'i was': 'you were',
  "i've": 'you have',
  "i'll": 'you will',
  i: 'you',
  me: 'you',
  my: 'your',
  mine: 'yours',
  myself: 'yourself',
  'you are': 'I am',
  "you're": 'I am',
  'are you': 'am I',
  'you were': 'I was',
  "you've": 'I have',
  "you'll": 'I will',
  your: 'my',
  yours: 'mine',
  yourself: 'myself',
  you: 'me',
};
const swapped = new RegExp(`(?<![\\w'])(?:${Object.keys(swaps).join('|')})(?![\\w'])`, 'gi');
/** `you` is a subject at the beginning and after these words. */
const beforeSubject = /(?:^|\b(?:that|if|because|when|what|how|why|do|did|can|could|will|would) )$/i;

/** Limits of a reflected phrase, in words and in UTF-16 code units. */
const [wordsMax, unitsMax] = [16, 160];

/** Swaps the first and the second person: `I lost my keys` becomes `you lost your keys`. Only the beginning of a long phrase. */
export function reflect(phrase: string): string {
  const beginning = phrase.slice(0, unitsMax).trimEnd().split(' ', wordsMax).join(' ');
  return beginning.replace(swapped, (found, at: number) => {
    const word = found.toLowerCase();
    const isSubject = word === 'you' && beforeSubject.test(beginning.slice(0, at));
    return isSubject && beginning.length > at + 3 ? 'I' : (swaps[word] ?? found);
  });
}
