/** The rules at work: a conversation in, an answer out. The same conversation always gets the same answer. */
import { clausesOf, languageOf } from './clauses.ts';
import type { Conversation, Turn } from './conversation.ts';
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

/** What was made of one message. */
interface Heard {
  readonly answers: Answers;
  /** What goes into the answer in the place of `{it}` or `{name}`. */
  readonly it: string;
  readonly name: string;
}

/**
 * The answer to the latest message of a user. Answers to messages of the same kind take turns: the first such message
 * gets the first answer, the next the second, and `choice` (from 0) goes further on in the turn, for clients that ask
 * for several. Nothing is remembered between calls; the turn is counted in the conversation itself.
 */
export function respond(conversation: Conversation, choice = 0): string {
  return responder(conversation)(choice);
}

/** As `respond`, for all choices: the conversation is read once. */
export function responder(conversation: Conversation): (choice: number) => string {
  const { latest, earlier, forgotten } = conversation;
  if (latest === undefined) return () => opening[0];
  const heard = hear(latest);
  const uses = forgotten + earlier.filter((turn) => hear(turn).answers === heard.answers).length;
  const told = heard.answers === fallback ? memories(earlier) : [];
  const preface = prefaceOf(latest, heard);
  return (choice) => preface + sayInTurn(heard, told, uses + choice);
}

function hear(turn: Turn): Heard {
  const nothing = { it: '', name: '' };
  if (turn.text.trim() === '') {
    return { answers: turn.hasAttachment ? onAttachment : onSilence, ...nothing };
  }
  const clauses = clausesOf(turn.text);
  const language = languageOf(turn.text);
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

/** What the user stated with `my` in it, turned around, oldest first; not in the message just before. */
function memories(earlier: readonly Turn[]): readonly string[] {
  return earlier
    .slice(0, -1)
    .flatMap((turn) => clausesOf(turn.text))
    .filter((clause) => !clause.isQuestion && statement.test(clause.text))
    .map((clause) => reflect(clause.text));
}

/** Three words or more of one who speaks of something of theirs, and not just to give a name. */
const statement = /^(?=(?:i|my|we) )(?=.*\bmy (?!name\b))\S+ \S+ ./i;

/** Where there is something to come back to, every other answer does. */
function sayInTurn(heard: Heard, told: readonly string[], turn: number): string {
  if (told.length === 0 || turn % 2 === 1) return fill(inTurn(heard.answers, turn), heard.it, heard.name);
  const round = turn / 2;
  return fill(inTurn(recall, round), told[round % told.length] ?? '', '');
}

function inTurn(answers: Answers, turn: number): string {
  return answers[turn % answers.length] ?? answers[0];
}

function fill(answer: string, it: string, name: string): string {
  return answer.replace('{it}', () => it).replace('{name}', () => name);
}

function prefaceOf(turn: Turn, heard: Heard): string {
  if (heard.answers === onAttachment) return '';
  const cut = turn.isCut ? `${besideLength} ` : '';
  return turn.hasAttachment ? `${besideAttachment} ${cut}` : cut;
}
