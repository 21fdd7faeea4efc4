import type OpenAI from 'openai';

/** The members of an error of OpenAI's SDK. */
export function errorOfOpenAi(thrown: unknown) {
  const { status, code } = thrown as InstanceType<typeof OpenAI.APIError>;
  return { status, code };
}
