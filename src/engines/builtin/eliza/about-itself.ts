/** Answers about itself and its limits. They rank above small talk, so that nobody takes it for a model. */
import { type Rule, rule } from './rule.ts';

const safety: readonly Rule[] = [
  rule(
    200,
    /\b(?:suicid\w*|(?:kill|killing|hurt|hurting|harm|harming) myself|(?:end|take) my (?:own )?life|want to die|be dead|self[- ]harm|no reason to live)\b/i,
    'I am only a small set of rules and no help with this, but a person can be. Please talk to someone you trust, or call your local emergency number or a crisis line, now.',
    'Please do not carry this with a program like me. A doctor, a crisis line or somebody close to you can help today. If you are in danger, call your local emergency number.',
  ),
];

const identity: readonly Rule[] = [
  rule(
    100,
    /\b(?:(?:are|is) (?:you|this|it|that)|you are|you're|am i (?:talking|speaking|chatting) (?:to|with)) (?:really |just |only |actually )?(?:an? |the )?(?:real |rule[- ]based |large |actual )?(?:ai|bot|robot|machine|computer|program|human|person|real|alive|chatbot|chat ?gpt|gpt|llm|language model|model|eliza|parley)\b/i,
    'I am a small set of rules inside Parley, here so that you can try the service. I am not a language model, and not a person either: an operator adds real models in parley.yaml.',
    'A program, and a short one: patterns on one side, replies on the other. I am not a language model; Parley carries me for trying things out, and real models come from parley.yaml.',
    'No mind and no language model, just a page of rules that is pleased to meet you. Whoever runs this Parley can add a real model in parley.yaml.',
  ),
  rule(
    100,
    /\b(?:who|what) (?:exactly )?(?:are|r) you\b|\b(?:what|which) (?:ai|model|llm|version)\b|\bwhat can you do\b|\bhow do you work\b|\bwho (?:made|built|wrote|created|trained) you\b|\bwhat(?: is|'s) (?:your name|this)$|\babout yourself\b|\bintroduce yourself\b|^help$/i,
    'I am the built-in chat of Parley: a small set of rules that turns your words around so that you can try the service. I am not a language model. An operator adds real models in parley.yaml.',
    'Think of me as a mirror with manners. I match patterns in what you type and answer from a list; there is no language model in here until an operator adds one in parley.yaml.',
    'A few dozen rules, written to show that chat works, and not a language model. I know no facts and learn nothing. For answers with substance, a real model goes into parley.yaml.',
  ),
  rule(
    90,
    /\b(?:do|can|could|did|are|will) you (?:really |ever |even |actually )?(?:understand|think|thinking|feel|feeling|conscious|sentient|sleep|dream|learn|love|know|remember|eat|care|listen|listening|hear|hallucinate|lie)\b/i,
    'No. I am a set of rules that matches patterns, and I would rather say so than pretend. How is it with you?',
    'Nothing of the kind happens in here. You write, a rule fits, I answer; when the answer is sent I have forgotten it.',
    'Sadly there is nobody in here to do that. I look at your last few messages, apply a rule, and hope that it sounds kind.',
  ),
  rule(
    85,
    /\bparley\b/i,
    'Parley is the server that you are talking to: it does speech, transcription and chat. I am its smallest part, a set of rules for trying it out.',
    'Parley does the carrying; I only do the small talk. Real chat models are added by an operator in parley.yaml.',
  ),
];

const limits: readonly Rule[] = [
  rule(
    70,
    /^(?:and |so )?(?:who|when|what|where|which) (?:is|was|are|were|did|won|wrote|invented|discovered) (?!(?:i|you|my|your|it|that|this|there|wrong|happening|going)\b)|\b(?:capital of|square root|how (?:many|far|tall|big)|what(?:'s| is) the|what (?:time|day|date)|weather (?:like|today|tomorrow|forecast))\b|\d ?(?:[-+*x/]|plus|minus|times|divided by) ?\d/i,
    'That asks for knowledge, and I have none beyond my rules. A real model, which an operator adds in parley.yaml, could tell you.',
    'I would have to make that up, so I had better not: I am rules without facts. What makes you want to know?',
    'No encyclopedia in here, only manners. What would you do with the answer?',
  ),
  rule(
    70,
    /^(?:please |(?:can|could|would|will) you (?:please )?|i (?:want|need) you to )?(?:write|draw|translate|summari[sz]e|calculate|compute|explain|generate|code|debug|search|look up|google|compose|rewrite|proofread|recommend|draft|tell me (?:a story|about)|give me)\b/i,
    'That is work for a real model, and I am only a set of rules for trying the service. An operator can add one in parley.yaml.',
    'I wish I could. My whole talent is turning sentences around; tasks need a real model from parley.yaml.',
    'Beyond me, honestly. I can keep you company while somebody adds a real model to parley.yaml. What is the task for?',
  ),
  rule(
    67,
    /\b(?:joke|make me laugh|something funny)\b/i,
    'A rule walks into a bar. The bar does not match, so the rule orders the default.',
    'I know only this one: I was asked for my opinion, and gave it back to the person who asked.',
    'A pattern is in love with a sentence, but the sentence only wants to be friends with the fallback. Do you know a better one?',
  ),
  rule(
    66,
    /\bhelp me\b|\bi need help\b/i,
    'I can reply by the rules and count my tokens exactly; that is the whole offer. What is it about?',
    'Gladly, as far as a list of rules goes, and that is not far. What have you tried already?',
    'Putting it into words sometimes helps, even in front of a program. Where does it hurt?',
  ),
  rule(
    65,
    /^(?:please |and |so |well )?(?:can|could|will|would) you (?:please )?(?<it>.+)/i,
    'I know a few dozen rules, and none of them can {it}. What would it change for you?',
    'Whether I can {it} is quickly answered: no. I am here for trying the service. What made you ask?',
    'That is beyond a set of rules like me. Whom else could you ask?',
  ),
];

const opinions: readonly Rule[] = [
  rule(
    60,
    /\byou(?:'re| are)? (?:so |very |really |such |just |a |an |quite )*(?:stupid|dumb|useless|idiot|moron|boring|annoying|terrible|awful|wrong|rubbish|bad)\b|\b(?:stupid|dumb|useless) (?:bot|machine|program|computer|thing)\b/i,
    'Fair enough: I am a few dozen rules, and you may have met all of them by now. What were you hoping for?',
    'I take it on the chin that I do not have. What should a good answer have said?',
    'You may well be right. Is something else getting on your nerves today?',
  ),
  rule(
    58,
    /\byou(?:'re| are)? (?:so |very |really |such |a |an |quite )*(?:good|great|nice|smart|clever|funny|kind|sweet|helpful|wonderful|cool|amazing)\b|\bi (?:really )?(?:like|love) you\b/i,
    'That is kind, and I shall pass it on to the regular expressions.',
    'Thank you. It is easy to be agreeable when one has only a page of rules. How are things with you?',
    'You are generous. Most of what you like in my answers you brought along yourself.',
  ),
  rule(
    12,
    /\b(?:computers?|machines?|software|internet|artificial intelligence|ai|robots?|technology)\b/i,
    'As a small program I am hardly neutral there. What do machines mean to you?',
    'We programs try to be useful, some of us with very few rules. What has your experience been?',
    'Is it the machine that bothers you, or what people do with it?',
  ),
];

export const aboutItself: readonly Rule[] = [...safety, ...identity, ...limits, ...opinions];
