/** Chooses the answer to the last message of the user. The same messages always get the same answer. */
import type { ChatMessage, MessageContent } from '../../../../gen/parley/chat/v1/chat_pb.ts';

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

/** Used in turn. `{it}` stands for the pattern's group of that name, with the person swapped. */
type Answers = readonly [string, ...string[]];

interface Rule {
  /**
   * Matched against one clause, without punctuation and with single spaces. No pattern has an unbounded repetition inside
   * another, so that the time stays linear.
   */
  readonly pattern: RegExp;
  readonly answers: Answers;
}

const rule = (pattern: RegExp, ...answers: Answers): Rule => ({ pattern, answers });

/** No letter, or no message. */
const withoutWords: Answers = [
  'There are no words in that, and words are all that I can read. What would you like to say?',
  'My rules know nothing but words. I can wait.',
];

/** No pattern matches. */
const fallback: Answers = [
  'I read only English, and not much of it. Could you say a little more?',
  'My rules find nothing to hold on to there. How would you put it to a friend?',
  'Let us stay with that for a moment. What happened just before?',
];

/** The first that matches any clause answers. Those about itself are first, so that nobody takes it for a model. */
export const rules: readonly Rule[] = [
  rule(
    /\b(?:suicid\w*|(?:kill|killing|hurt|hurting|harm|harming) myself|(?:end|take) my (?:own )?life|want to die|self[- ]harm|no reason to live)\b/i,
    'I am only a small set of rules and no help with this, but a person can be. Please talk to someone you trust, or call your local emergency number or a crisis line, now.',
    'Please do not carry this with a program like me. A doctor, a crisis line or somebody close to you can help today. If you are in danger, call your local emergency number.',
  ),
  rule(
    /\b(?:(?:are|is) (?:you|this|it)|you are|you're|am i (?:talking|speaking) (?:to|with)) (?:really |just |only )?(?:an? )?(?:real |language )?(?:ai|bot|robot|machine|computer|program|human|person|real|alive|chatbot|chatgpt|gpt|llm|model)\b|\b(?:who|what) are you\b|\b(?:what|which) (?:ai|model|version)\b|\bwhat can you do\b|\bhow do you work\b|\bwho (?:made|built|wrote|trained) you\b|\bwhat(?: is|'s) your name\b|\babout yourself\b|\b(?:do|can) you (?:really )?(?:understand|think|feel|know|remember)\b|\bparley\b|^help$/i,
    'I am the built-in chat of Parley: a small set of rules that turns your words around so that you can try the service. I am not a language model. An operator adds real models in parley.yaml.',
    'A program, and a short one: patterns on one side, replies on the other. I am not a language model; real models come from parley.yaml.',
    'No mind and no language model, just a page of rules that is pleased to meet you. Whoever runs this Parley can add a real model in parley.yaml.',
  ),
  rule(
    /^(?:please |(?:can|could|would|will) you )|^(?:write|draw|translate|summari[sz]e|calculate|explain|generate|search|tell me|give me)\b|^(?:who|when|where|which|what) (?:is|was|are|were|did)\b|\bcapital of\b|\bhow (?:many|far|tall|big)\b|\d ?(?:[-+*x/]|plus|minus|times) ?\d/i,
    'That is work for a real model, and I am only a set of rules for trying the service. An operator can add one in parley.yaml.',
    'I would have to make that up, so I had better not: I am rules without facts. A real model could help.',
  ),
  rule(
    /^(?:ok |okay |well |so )?(?:bye|goodbye|see you|good night|take care)\b|\b(?:thanks|thank you)\b/i,
    'It was a pleasure. I shall forget every word, which makes me very discreet.',
    'My rules and I will be here, in the same order.',
  ),
  rule(
    /\b(?:my name is|my name's|call me) (?<it>[\p{L}'-]{1,40})/iu,
    'Pleased to meet you, {it}. What is on your mind?',
    'Hello, {it}. What shall we talk about?',
  ),
  rule(
    /\b(?:died|passed away|is dead|funeral)\b/i,
    'I am sorry. That is more than a set of rules can console, but tell me about them if you like.',
    'I am sorry for your loss. What would you like to remember of them?',
  ),
  rule(
    /\b(?:i am|i'm|i feel|feeling) (?!not\b)(?:(?!not\b)[\w']+ ){0,2}?(?<it>sad|unhappy|depressed|lonely|alone|tired|exhausted|worried|anxious|nervous|afraid|scared|angry|stressed|upset|bored|ill|sick)\b/i,
    'I am sorry to hear that you are {it}. When did it begin?',
    'It is no small thing to be {it}. What would make today a little lighter?',
    'What do you do when you are {it}, and does it ever help?',
  ),
  rule(
    /\bi (?:really |just )?(?:need|want|wish|would like|'d like|hope|have) to (?<it>.+)/i,
    'What would be different if you could {it}?',
    'Is anything in the way, or could you {it} tomorrow?',
  ),
  rule(
    /\bi (?:really |just )?(?:need|want|would like|could use) (?<it>.+)/i,
    'How long have you been looking for {it}?',
    'What would change with {it}?',
    'Who could help you to get {it}?',
  ),
  rule(
    /\bi (?:can't|cannot|couldn't|don't|do not) (?:really |even )?(?<it>.+)/i,
    'What would happen if you did {it}?',
    'Has it always been so, or was there a time when you could {it}?',
  ),
  rule(
    /\bi (?:think|believe|suppose|guess|know|feel like) (?:that )?(?<it>.+)/i,
    'How sure are you that {it}?',
    'Say that {it}. What follows from it?',
  ),
  rule(
    /\bi (?:really )?(?:love|like|miss|enjoy|prefer|hate|fear|remember) (?<it>.+)/i,
    'What comes to mind first when you think of {it}?',
    'Who else thinks of {it} the way you do?',
  ),
  rule(
    /\bmy (?:[\w-]+ )?(?<it>mother|mum|mom|father|dad|sister|brother|wife|husband|partner|son|daughter|friend|boss|teacher|family|parents|children|kids|friends|colleagues)\b/i,
    'How do you and your {it} get on?',
    'What would your {it} say to that?',
  ),
  rule(
    /\b(?:i am|i'm) (?<it>.+)/i,
    'Since when are you {it}?',
    'So you are {it}. Is that how you would like it to be?',
  ),
  rule(
    /^(?:this is )?(?:a )?(?:test|testing|ping)\b/i,
    'It works: you wrote, I answered, and every token was counted. What else shall we try?',
    'Received. Say something longer and watch the words come one by one.',
  ),
  rule(
    /^(?:yes|yeah|sure|of course|right|exactly|ok|okay|no|nope|not really|never|maybe|perhaps)\b/i,
    'What makes you say so?',
    'What would change your mind?',
    'And what follows from that?',
  ),
  rule(
    /^(?:hi|hello|hey|greetings|good (?:morning|afternoon|evening|day))\b|\bhow are (?:you|things)\b/i,
    'Hello! What would you like to talk about?',
    'Hello. What is on your mind?',
  ),
  rule(
    /^(?:why|what|who|where|when|which|how|do|does|did|is|are|am|will|would|can|could|should)\b/i,
    'I have no theory of that. What is yours?',
    'A good question, and wasted on a list of rules. What made you think of it?',
  ),
  rule(
    /\b(?:i|i've|i'd|i'll|we|my) [\w']+/i,
    'And how was that for you?',
    'What led up to it?',
    'Would you do the same again?',
  ),
  rule(
    /\byou\b/i,
    'There is little to me: a list of rules. What about you?',
    'Let us leave the rules out of it. How is it with you?',
  ),
];
