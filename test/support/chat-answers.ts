/** Answers of chat models, in the JSON of the API. */

type Json = Record<string, unknown>;

export const reported = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
const head = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'upstream-model-2026' };

/** A whole answer of one choice. */
export function completion(content = 'hello there', more: Json = {}): Json {
  const message = { role: 'assistant', content, refusal: null };
  return {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage: reported,
    ...more,
  };
}

/** A piece of an answer. */
export function chunk(delta: Json, choice: Json = {}, more: Json = {}): Json {
  return {
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: null, ...choice }],
    ...more,
  };
}

/** A streamed answer of one choice, with one chunk per word, and its usage in a separate chunk. */
export function chunks(...words: readonly string[]): Json[] {
  return [
    chunk({ role: 'assistant', content: '' }),
    ...words.map((content) => chunk({ content })),
    chunk({}, { finish_reason: 'stop' }),
    { ...chunk({}), choices: [], usage: reported },
  ];
}

/** The events of a stream, as JSON, and whether it ended with `[DONE]`. */
export async function readEvents(response: Response) {
  const text = await response.text();
  const data = text
    .split('\n\n')
    .filter((event) => event !== '' && !event.startsWith(':'))
    .map((event) => event.replace(/^data: /, ''));
  const isDone = data.at(-1) === '[DONE]';
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape.
  const events: any[] = (isDone ? data.slice(0, -1) : data).map((json) => JSON.parse(json));
  return { events, isDone, text: events.map((event) => event.choices?.[0]?.delta?.content ?? '').join('') };
}

export const question = { model: 'served', messages: [{ role: 'user', content: 'say hello' }] };
