/** What every kind of engine is told when it is diagnosed, and what it says of voices. */
import { type Diagnostic, ok, problem } from '../core/diagnostics.ts';
import type { ParleyError } from '../core/errors.ts';

/** A model of the catalog that an engine serves. */
export interface DiagnosedModel {
  readonly id: string;
  readonly type: 'speech' | 'transcription' | 'chat';
  /** The engine's own names of the voices that the catalog speaks of. */
  readonly voices: readonly string[];
}

/** Whether an engine has the voices that the catalog speaks of, and any at all. */
export function voicesDiagnostic({ id, voices }: DiagnosedModel, there: readonly string[]): Diagnostic {
  const subject = `voices of ${id}`;
  if (there.length === 0) {
    const advice = 'Write them in the configuration: `voices` of the engine, each with its language.';
    return problem(subject, 'It tells no voices, so nothing can be spoken.', advice);
  }
  const missing = voices.filter((voice) => !there.includes(voice));
  if (missing.length === 0) return ok(subject, `It has ${there.length}: ${shortened(there)}.`);
  const advice = `Change \`voices\` and \`defaultVoice\` of the model. It has: ${shortened(there)}.`;
  return problem(subject, `It does not have ${missing.join(', ')}.`, advice);
}

const shownMax = 8;

/** The first few of a long list. */
export function shortened(names: readonly string[]): string {
  const rest = names.length - shownMax;
  return names.slice(0, shownMax).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

const wordsMax = 200;

/** Why a call failed, in the words of the system or of who was called, on one line. */
export function wordsOf({ cause, message }: ParleyError): string {
  const words = cause instanceof Error ? cause.message || codeOf(cause) || cause.name : message;
  return words.replace(/\s+/g, ' ').trim().slice(0, wordsMax);
}

/** That of a failure to connect to each of several addresses, which has no message of its own. */
function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
