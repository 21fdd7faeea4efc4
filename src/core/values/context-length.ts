import { type ErrorDetails, ParleyError } from './errors.ts';

/**
 * The error of a prompt that is too long for its model. Claude Code knows it by these words, and then shortens the
 * conversation by the numbers.
 * @param tokens of the prompt, which may be counted only until they exceed the maximum; undefined if they are not known
 */
export function contextLengthExceeded(
  tokens: { readonly prompt: number; readonly maximum: number } | undefined,
  details: ErrorDetails = {},
): ParleyError {
  const message =
    tokens && `The prompt is too long: ${tokens.prompt} tokens > ${tokens.maximum} maximum. Send less.`;
  return new ParleyError('context_length_exceeded', {
    param: 'messages',
    ...details,
    ...(message && { message }),
  });
}
