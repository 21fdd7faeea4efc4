/** Courtesies, replies to one-word messages, and other subjects that keep a conversation going. */
import { type Rule, rule } from './rule.ts';

const courtesies: readonly Rule[] = [
  rule(
    62,
    /^(?:ok |okay |well |so |and )?(?:bye|goodbye|good bye|farewell|cheerio|see (?:you|ya)|good night|take care|talk to you later)\b|\bi (?:have to|must|need to|should) (?:go|leave)(?: now)?$/i,
    'Goodbye. I shall forget every word, which makes me very discreet.',
    'Farewell, and thank you for the words. I only rearranged them.',
    'Take care. My rules and I will be here, in the same order.',
  ),
  rule(
    56,
    /\b(?:my name is|my name's|call me) (?<name>[\p{L}'-]{1,40})/iu,
    'Pleased to meet you, {name}. What is on your mind?',
    'Hello, {name}. What shall we talk about?',
    'A good name to have, {name}. How has your day been?',
  ),
  rule(
    52,
    /\bhow(?: are|'re) (?:you|things)\b|\bhow(?: is|'s) it going\b|\bwhat's up\b|\bhow do you do\b/i,
    'All my rules are in their places, thank you. And how are you?',
    'Steady, as a list is. I would sooner hear about you: what sort of day is it?',
    'No complaints, and no way of having any. How are things on your side?',
  ),
  rule(
    45,
    /\b(?:i'm sorry|i am sorry|apologi[sz]e|my apologies)\b|^sorry\b/i,
    'Nothing to forgive; I could not hold a grudge past the end of this request.',
    'No harm done. What were you going to say?',
    'It is quite all right. Do you often find yourself apologising?',
  ),
  rule(
    20,
    /\b(?:thanks|thank you|thx|cheers|much appreciated)\b/i,
    'You are welcome. Rules like to be applied.',
    'Glad to be of use. Is there more?',
    'My pleasure, or the nearest thing to it that I have.',
  ),
  rule(
    16,
    /^(?:this is |just )?(?:a |only a )?(?:test|testing|ping)(?: [\w]+)?$/i,
    'It works: you wrote, I answered, and every token was counted. What else shall we try?',
    'Received. Say something longer and watch the words come one by one.',
    'Still here. You could set a stop word or a token limit and see me keep to it.',
  ),
  rule(
    8,
    /^(?:hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day))\b/i,
    'Hello! What would you like to talk about?',
    'Hello again. What is on your mind?',
    'Good to hear from you. Where shall we begin?',
  ),
];

const replies: readonly Rule[] = [
  rule(
    10,
    /^(?:yes|yeah|yep|yup|sure|of course|certainly|absolutely|indeed|right|exactly|true|ok|okay)\b/i,
    'Good. And what is behind the yes?',
    'That was quick. What makes you so sure?',
    'Then we agree, which is easy for me. What comes next?',
  ),
  rule(
    10,
    /^(?:no|nope|nah|not really|not at all|never|wrong|false)\b/i,
    'Not at all, or not yet?',
    'A plain no. What would turn it into a maybe?',
    'Then how is it instead?',
  ),
  rule(
    10,
    /\b(?:maybe|perhaps|possibly|probably|it depends)\b/i,
    'What would tip the scale?',
    'You keep both doors open. Which one has the better view?',
    'And if you had to bet?',
  ),
  rule(
    18,
    /\b(?:because|since|that's why)\b/i,
    'Reasons come in crowds. Is there another one behind that?',
    'And without that, would it be different?',
    'Who would see it otherwise?',
  ),
  rule(17, /\bif (?<it>.+)/i, 'Say that {it}. What then?', 'And if not?', 'Is that a hope or a fear?'),
  rule(
    13,
    /\b(?:always|every time|everyone|everybody|nobody|no one|everything|nothing)\b/i,
    'That is a big word, and I collect exceptions. Can you think of one?',
    'When was it last like that?',
    'Who taught you to see it that way?',
  ),
];

const subjects: readonly Rule[] = [
  rule(
    30,
    /^(?:are|were) you (?<it>.+)/i,
    'I am rules, so the honest answer is no. Why do you wonder whether I am {it}?',
    'Not that any of my rules would know. Would it help if I were {it}?',
  ),
  rule(
    19,
    /\byou (?!are\b|were\b)(?<it>[\w']+) me\b/i,
    'What gives you the idea that I {it} you?',
    'A set of rules can hardly {it} anybody. Is there someone else who does?',
  ),
  rule(
    19,
    /^you (?<it>(?:always|never|only|just|don't|can't) .+)/i,
    'What makes you say that I {it}?',
    'Rules have their habits. Is there somebody else who does that to you?',
  ),
  rule(
    19,
    /\b(?:you are|you're) (?<it>.+)/i,
    'What makes you think that I am {it}?',
    'Suppose that I am {it}. What does that say about a list of rules?',
    'Has anybody ever told you that you are {it}?',
  ),
  rule(
    11,
    /\b(?:work|job|office|career|project|deadline|meeting|school|exams?|homework|study|studies)\b/i,
    'What does a good day of it look like?',
    'Is it the thing itself, or the people in it?',
    'If nobody paid or graded you, would you still do it?',
  ),
  rule(
    11,
    /\b(?:money|rent|salary|debts?|bills?|expensive|broke)\b/i,
    'How much would be enough?',
    'What would you stop doing if money were no matter?',
    'Money is a number, and I can only count tokens. What is it that worries you about it?',
  ),
  rule(
    9,
    /^(?:he|she|they|people|somebody|someone)\b/i,
    'What do you think is behind that?',
    'And what did you do?',
    'How would it sound if they told it?',
  ),
  rule(
    9,
    /^(?:why|what|who|whom|whose|where|when|which|how|do|does|did|is|are|am|was|were|will|would|can|could|should)\b/i,
    'I have no theory of that. What is yours?',
    'If I knew reasons I would be a larger program. What answer would please you?',
    'A good question, and wasted on a list of rules. What made you think of it?',
  ),
  rule(
    6,
    /\b(?:you|your|yours|yourself)\b/i,
    'There is little to me: a list of rules. What about you?',
    'Let us leave the rules out of it. How is it with you?',
  ),
  rule(
    5,
    /^(?:it|that|this|there)(?:'s| is| was| are| were)\b/i,
    'What does that change for you?',
    'And do you mind?',
    'How did you come to notice?',
  ),
];

export const smallTalk: readonly Rule[] = [...courtesies, ...replies, ...subjects];
