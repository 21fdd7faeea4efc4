/** Answers about the user: feelings, wishes, thoughts, actions, and the people around them. */
import { type Rule, rule } from './rule.ts';

const feelings: readonly Rule[] = [
  rule(
    50,
    /\b(?:died|passed away|is dead|are dead|funeral|i lost my (?:mother|mum|mom|father|dad|sister|brother|wife|husband|partner|son|daughter|friend|dog|cat))\b/i,
    'I am sorry. That is more than a set of rules can console, but tell me about them if you like.',
    'That is a great loss. Is there somebody near you to whom you can talk about it?',
    'I am sorry for your loss. What would you like to remember of them?',
  ),
  rule(
    36,
    /\b(?:i am|i'm|im|i feel|i felt|i've been|i have been|feeling) (?!not\b)(?:(?!not\b)[\w']+ ){0,3}?(?<it>sad|unhappy|depressed|lonely|alone|tired|exhausted|worried|anxious|nervous|afraid|scared|angry|stressed|upset|hurt|lost|miserable|bored|ill|sick)\b/i,
    'I am sorry to hear that you are {it}. When did it begin?',
    'It is no small thing to be {it}. What would make today a little lighter?',
    'What do you do when you are {it}, and does it ever help?',
    'Who else knows that you are {it}?',
  ),
  rule(
    36,
    /\b(?:i am|i'm|im|i feel|feeling) (?!not\b)(?:(?!not\b)[\w']+ ){0,2}?(?<it>happy|glad|excited|delighted|proud|relieved|pleased|grateful|hopeful|in love|great|wonderful|fine|well|better)\b/i,
    'That is good to hear. What is it that makes you {it}?',
    'So you are {it}. Whom have you told?',
    'Long may it last. What will you do with a day like that?',
  ),
  rule(
    33,
    /\bi (?:feel|felt) (?<it>.+)/i,
    'When did you last feel {it}?',
    'What is going on around you when you feel {it}?',
    'Suppose that you did not feel {it}: what would you notice first?',
  ),
];

const wishes: readonly Rule[] = [
  rule(
    32,
    /\bi (?:really |just )?(?:need|want|wish|would like|'d like|hope) to (?<it>.+)/i,
    'What would be different if you could {it}?',
    'Is anything in the way, or could you {it} tomorrow?',
    'Since when have you wanted to {it}?',
  ),
  rule(
    32,
    /\bi wish (?:that )?(?<it>.+)/i,
    'What would you do first if {it}?',
    'What keeps that from coming true?',
    'How much of that is in your hands?',
  ),
  rule(
    31,
    /\bi (?:really |just )?(?:need|want|would like|long for|crave|could use|hope for) (?<it>.+)/i,
    'How long have you been looking for {it}?',
    'What would change with {it}?',
    'Who could help you to get {it}?',
  ),
  rule(
    30,
    /\bi (?:can't|cannot|can not|couldn't|am unable to|am not able to) (?:really |even )?(?<it>.+)/i,
    'What would happen if you could {it}?',
    'Who says that you cannot {it}?',
    'Has it always been so, or was there a time when you could {it}?',
  ),
  rule(
    30,
    /\bi (?:have to|must|should|ought to|am supposed to|need to) (?<it>.+)/i,
    'What happens if you do not {it}?',
    'Whose idea is it that you should {it}?',
    'Is that a duty, or a habit in disguise?',
  ),
];

const thoughts: readonly Rule[] = [
  rule(
    29,
    /\bi (?:don't|do not|didn't) know\b|\bno idea\b|\bnot sure\b/i,
    'Neither do I, but only one of us can guess. What is yours?',
    'Suppose that you did know: what would it be?',
    'Not knowing is an honest place to start. What would you need to find out?',
  ),
  rule(
    28,
    /\bi (?:remember|recall|will never forget|'ll never forget) (?<it>.+)/i,
    'What brings {it} back just now?',
    'What else belongs to that memory?',
    'Who would remember {it} the way you do?',
  ),
  rule(
    28,
    /\bi(?:'ve| have)? (?:dreamt|dreamed|had a (?:dream|nightmare))|\bmy dreams?\b|\bnightmares?\b/i,
    'What did you feel when you woke up?',
    'Dreams are the one text that I cannot even pretend to parse. What do you think it was about?',
    'Which picture of it stayed with you?',
  ),
  rule(
    27,
    /\bi(?:'m| am)? (?:think|thinking|worry|worrying|dream|dreaming) (?:about|of) (?<it>.+)/i,
    'How often is {it} on your mind?',
    'Where do you end up when you think about {it}?',
    'What would you rather think about?',
  ),
  rule(
    26,
    /\bi (?:think|believe|suppose|guess|reckon|know) (?:that )?(?<it>.+)/i,
    'How sure are you that {it}?',
    'Say that {it}. What follows from it?',
    'Would your friends agree that {it}?',
  ),
  rule(
    25,
    /\bi (?:don't|do not|didn't|never|won't|will not) (?:really |even )?(?<it>.+)/i,
    'And what if you did {it}?',
    'Is it that you cannot, or that you would rather not?',
    'Do you know somebody who does?',
  ),
];

const doings: readonly Rule[] = [
  rule(
    24,
    /\bi (?:really |do )?(?:love|like|adore|enjoy|prefer) (?<it>.+)/i,
    'Who else likes {it}?',
    'What is the best thing about it?',
    'When did you find out that you like {it}?',
  ),
  rule(
    24,
    /\bi (?:really )?(?:hate|dislike|detest|can't stand|fear) (?<it>.+)/i,
    'Since when do you dislike {it}?',
    'What is the worst of it?',
    'Did something happen to make it so?',
  ),
  rule(
    22,
    /\b(?:i am|i'm|im) (?<it>.+)/i,
    'Since when are you {it}?',
    'So you are {it}. Is that how you would like it to be?',
    'If somebody asked whether you are {it}, what would you tell them?',
  ),
  rule(
    22,
    /\bi was (?<it>.+)/i,
    'What was it like, when you were {it}?',
    'Were you {it} for long?',
    'What makes you think of that today?',
  ),
  rule(
    21,
    /\b(?:can|may|could|should|shall) i (?<it>.+)/i,
    'What would it mean to you to {it}?',
    'Who would mind if you were to {it}?',
    'Suppose you do. What is the first thing that happens?',
  ),
  rule(
    4,
    /\b(?:i|i've|i'd|i'll|we|we've) [\w']+/i,
    'And how was that for you?',
    'What led up to it?',
    'Would you do the same again?',
    'Who was there with you?',
  ),
];

const people: readonly Rule[] = [
  rule(
    23,
    /\bmy (?:[\w-]+ )?(?<it>mother|mum|mom|father|dad|sister|brother|wife|husband|partner|girlfriend|boyfriend|son|daughter|grandmother|grandfather|aunt|uncle|cousin|friend|neighbour|neighbor|boss|teacher|family)\b/i,
    'How do you and your {it} get on?',
    'What would your {it} say to that?',
    'When did you last have a good talk with your {it}?',
    'Is your {it} like you in that?',
  ),
  rule(
    23,
    /\bmy (?:[\w-]+ )?(?<it>parents|brothers|sisters|children|kids|sons|daughters|friends|grandparents|colleagues|neighbours|neighbors|classmates)\b/i,
    'How do you and your {it} get on?',
    'What would your {it} say to that?',
    'Are your {it} like you in that?',
  ),
  rule(
    15,
    /^(?<it>my [\w'-]+ .+)/i,
    'So {it}. How does that leave you?',
    'Has it been like that for long?',
    'You tell me that {it}. What have you tried?',
  ),
  rule(
    14,
    /\bmy (?<it>[\w-]+)$/i,
    'What is it about your {it}?',
    'How often do you think about your {it}?',
    'What would you tell a stranger about your {it}?',
  ),
];

export const aboutYou: readonly Rule[] = [...feelings, ...wishes, ...thoughts, ...doings, ...people];
