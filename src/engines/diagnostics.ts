/** The parts of `parley doctor` that all kinds of engines share. */
import { type Diagnostic, ok, problem } from '../core/values/diagnostics.ts';
import type { ParleyError } from '../core/values/errors.ts';
import { systemCode } from '../files/reason.ts';

export interface Diagnosis {
  /** The engine's name in the configuration. */
  readonly name: string;
  readonly apiKey: string | undefined;
  /** Advice for a key that is not accepted. Default: to correct the key that the engine's settings name. */
  readonly keyAdvice?: string;
  /** The models of the catalog that the engine serves. */
  readonly models: readonly DiagnosedModel[];
  readonly signal: AbortSignal;
}

export interface DiagnosedModel {
  readonly id: string;
  readonly type: 'speech' | 'transcription' | 'chat';
  /** The engine's names of the voices that the catalog uses. */
  readonly voices: readonly string[];
  /** Whether the upstream must report the context of the chat model. */
  readonly needsContext: boolean;
}

const ignore = () => undefined;
/** Options for an engine that is only opened to be diagnosed. */
export const silentLog = { info: ignore, warn: ignore, error: ignore };

/**
 * Checks that an engine has voices, among them those that the catalog uses.
 * @param available the engine's voices
 */
export function voicesDiagnostic({ id, voices }: DiagnosedModel, available: readonly string[]): Diagnostic {
  const subject = `voices of ${id}`;
  if (available.length === 0) {
    const advice = 'Write its voices in the configuration: `voices` of the engine, each with its language.';
    return problem(subject, 'It lists no voices, so the model cannot speak.', advice);
  }
  const missing = voices.filter((voice) => !available.includes(voice));
  if (missing.length === 0) return ok(subject, `It has ${available.length}: ${shortened(available)}.`);
  const advice = `Change \`voices\` and \`defaultVoice\` of the model. It has: ${shortened(available)}.`;
  return problem(subject, `It does not have ${missing.join(', ')}.`, advice);
}

const shownMax = 8;

/** The first few names of a long list. */
export function shortened(names: readonly string[]): string {
  const rest = names.length - shownMax;
  return names.slice(0, shownMax).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

const reasonCharactersMax = 200;

/** Why a call failed, in the words of the system or the other server, on one line. */
export function failureReason({ cause, message }: ParleyError): string {
  // An AggregateError, from connecting to each of several addresses, has a code and no message.
  const reason = cause instanceof Error ? cause.message || systemCode(cause) || cause.name : message;
  return reason.replace(/\s+/g, ' ').trim().slice(0, reasonCharactersMax);
}
