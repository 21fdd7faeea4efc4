import * as z from 'zod';
import { type Diagnostic, ok, problem } from '../../core/values/diagnostics.ts';
import { toParleyError } from '../../core/values/errors.ts';
import { type DiagnosedModel, failureReason } from '../diagnostics.ts';
import type { Upstream } from './calls/upstream.ts';
import { LimitName } from './chat/limit-names.ts';
import type { OpenAiSettings } from './index.ts';

/** A chat answer that can be charged. */
const answer = z.object({ choices: z.array(z.unknown()).min(1), usage: z.unknown().optional() });

/** Asks a chat model for one token. */
export async function diagnoseChat(
  { id }: DiagnosedModel,
  upstream: Upstream,
  { models, baseUrl, outputLimit }: OpenAiSettings,
  signal: AbortSignal,
): Promise<Diagnostic> {
  const subject = `chat with ${id}`;
  const question = { model: models[id] ?? id, messages: [{ role: 'user', content: 'Hi' }] };
  const limit = new LimitName(outputLimit, baseUrl, () => undefined);
  try {
    const response = await limit.withName((name) =>
      upstream.call({
        method: 'POST',
        path: '/chat/completions',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...question, [name]: 1 }),
        signal,
      }),
    );
    const { usage } = answer.parse(await response.json());
    if (usage !== undefined && usage !== null) return ok(subject, 'It answers, and reports its tokens.');
    return ok(subject, 'It answers. It reports no tokens, so Parley counts them.');
  } catch (error) {
    signal.throwIfAborted();
    const reason =
      error instanceof z.ZodError ? 'its answer is no chat completion' : failureReason(toParleyError(error));
    return problem(
      subject,
      `It does not answer (${reason}).`,
      'Look at its log, and check the name of the model.',
    );
  }
}
