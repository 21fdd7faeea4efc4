import { clausesOf, languageOf } from './clauses.ts';
import type { Conversation, UserMessage } from './conversation.ts';
import { reflect } from './reflect.ts';
import type { Answers } from './rule.ts';
import {
  besideAttachment,
  besideLength,
  fallback,
  onAttachment,
  onOtherLanguage,
  onSigns,
  onSilence,
  opening,
  recall,
  rules,
} from './rules.ts';

/** The answers that fit a message, and the texts for `{it}` and `{name}` in them. */
interface Match {
  readonly answers: Answers;
  readonly it: string;
  readonly name: string;
}

/**
 * The answer to the user's latest message; the same conversation always gets the same answer. Messages that match the same
 * rule get its answers in turn, counted within the conversation. `choice`, from 0, counts on for clients that ask for more
 * than one.
 */
export function respond(conversation: Conversation, choice = 0): string {
  return responder(conversation)(choice);
}

/** As `respond`, reading the conversation once for all choices. */
export function responder(conversation: Conversation): (choice: number) => string {
  const { latest, earlier, forgotten } = conversation;
  if (latest === undefined) return () => opening[0];
  const match = matchOf(latest);
  const uses = forgotten + earlier.filter((message) => matchOf(message).answers === match.answers).length;
  const memories = match.answers === fallback ? memoriesOf(earlier) : [];
  const preface = prefaceOf(latest, match);
  return (choice) => preface + answerInTurn(match, memories, uses + choice);
}

function matchOf(message: UserMessage): Match {
  const nothing = { it: '', name: '' };
  if (message.text.trim() === '') {
    return { answers: message.hasAttachment ? onAttachment : onSilence, ...nothing };
  }
  const clauses = clausesOf(message.text);
  const language = languageOf(message.text);
  if (language === 'other') return { answers: onOtherLanguage, ...nothing };
  for (const { pattern, answers } of rules) {
    for (const clause of clauses) {
      const found = pattern.exec(clause.text);
      if (found === null) continue;
      return { answers, it: reflect(found.groups?.['it'] ?? ''), name: found.groups?.['name'] ?? '' };
    }
  }
  return { answers: language === 'none' ? onSigns : fallback, ...nothing };
}

/** The user's statements with `my`, with the person swapped, oldest first, without those of the previous message. */
function memoriesOf(earlier: readonly UserMessage[]): readonly string[] {
  return earlier
    .slice(0, -1)
    .flatMap((message) => clausesOf(message.text))
    .filter((clause) => !clause.isQuestion && statement.test(clause.text))
    .map((clause) => reflect(clause.text));
}

/** At least three words about something of the user's, other than their name. */
const statement = /^(?=(?:i|my|we) )(?=.*\bmy (?!name\b))\S+ \S+ ./i;

/** Every other answer comes back to a memory, if there is one. */
function answerInTurn(match: Match, memories: readonly string[], turn: number): string {
  if (memories.length === 0 || turn % 2 === 1) return fill(inTurn(match.answers, turn), match.it, match.name);
  const round = turn / 2;
  return fill(inTurn(recall, round), memories[round % memories.length] ?? '', '');
}

function inTurn(answers: Answers, turn: number): string {
  return answers[turn % answers.length] ?? answers[0];
}

function fill(answer: string, it: string, name: string): string {
  return answer.replace('{it}', () => it).replace('{name}', () => name);
}

function prefaceOf(message: UserMessage, { answers }: Match): string {
  if (answers === onAttachment) return '';
  const cut = message.isCut ? `${besideLength} ` : '';
  return message.hasAttachment ? `${besideAttachment} ${cut}` : cut;
}
