import type OpenAI from 'openai';

/** What an error of OpenAI's SDK tells. */
export function errorOfOpenAi(thrown: unknown) {
  const { status, code } = thrown as InstanceType<typeof OpenAI.APIError>;
  return { status, code };
}
