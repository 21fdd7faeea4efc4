/** Which name of the output limit each known host takes. */
import { expect, it } from 'vitest';
import { defaultLimitNames, tokenizerOf } from '../../../src/engines/openai/chat/limit-names.ts';

it.each([
  ['https://api.openai.com/v1', 'max_completion_tokens'],
  ['https://me.openai.azure.com/openai/v1', 'max_completion_tokens'],
  ['https://me.services.ai.azure.com/openai/v1', 'max_completion_tokens'],
  ['http://127.0.0.1:8000/v1', 'max_tokens'],
  ['https://api.openai.com.example.org/v1', 'max_tokens'],
])('%s takes %s', (baseUrl, name) => {
  expect(defaultLimitNames(baseUrl)).toBe(name);
});

it('knows the vocabulary of hosted OpenAI models alone', () => {
  expect(tokenizerOf('https://api.openai.com/v1', 'gpt-4.1-mini')).toBe('o200k');
  expect(tokenizerOf('https://api.openai.com/v1', 'gpt-3.5-turbo')).toBeUndefined();
  expect(tokenizerOf('http://127.0.0.1:8000/v1', 'gpt-4.1-mini')).toBeUndefined();
});
