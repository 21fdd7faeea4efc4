/** All rules, and the answers to messages that no pattern is tried on. */
import { aboutItself } from './about-itself.ts';
import { aboutYou } from './about-you.ts';
import type { Answers, Rule } from './rule.ts';
import { smallTalk } from './small-talk.ts';

/** Highest rank first, in the written order within a rank. */
export const rules: readonly Rule[] = [...aboutItself, ...smallTalk, ...aboutYou].sort(
  (a, b) => b.rank - a.rank,
);

/** The conversation has no user message. */
export const opening: Answers = [
  'Hello. I am a small set of rules, and I answer to what a user writes. Say something.',
];

/** The message is empty or blank. */
export const onSilence: Answers = [
  'You sent me an empty message. I can wait.',
  'Nothing again. Silence is the one input for which I have plenty of time.',
  'Still nothing to turn around. How was your day?',
];

/** The message has images, audio or files, and no text. */
export const onAttachment: Answers = [
  'You sent something that is not text. I cannot see or hear it: I am rules for words. What is it?',
  'I take your word that there is something to look at or to listen to. Words are all that I can read.',
];

/** Put before the answer to a text with images, audio or files. */
export const besideAttachment = 'I cannot see or hear what you attached, only read what you wrote.';

/** Put before the answer to a text of which only the end was read. */
export const besideLength = 'That was long, and I read only the end of it.';

/** Digits, signs or emoji without a letter. */
export const onSigns: Answers = [
  'That has no words in it, and words are all that my rules know. Could you put it into a sentence?',
  'Signs and numbers pass me by. What would it be in words?',
];

/** Another language, by a list of words. */
export const onOtherLanguage: Answers = [
  'I only know English, I am afraid. Could you say that in English?',
  'My rules are English ones and fit no other language. A real model, added in parley.yaml, may well speak yours.',
];

/** No pattern matches. */
export const fallback: Answers = [
  'I followed the words, if not the meaning. Could you say a little more?',
  'My rules find nothing to hold on to there. How would you put it to a friend?',
  'And where do you come into it?',
  'None of my rules covers that, which speaks for you. What matters most about it?',
  'Let us stay with that for a moment. What happened just before?',
];

/** No pattern matches, and an earlier message was about `my ...`. */
export const recall: Answers = [
  'A while ago you wrote that {it}. Is that connected?',
  'Let me go back a little: you told me that {it}. How is that now?',
  'I still have in front of me that {it}. Where does that leave you today?',
];
