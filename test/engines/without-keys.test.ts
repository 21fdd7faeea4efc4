import { expect, it } from 'vitest';
import { withoutKeys } from '../../src/engines/openai/errors.ts';

const keys = {
  OpenAI: 'sk-proj-Zx81nQpL0sTbVwYd3fKa',
  Parley: 'pk_0123456789abcdef0123456789abcdef',
  Google: 'AIzaSyD4qkR9xW2mN7bV5cT1pL8hJ3fG6dS0aQw',
  'of hexadecimal digits': '9f86d081884c7d659a2feaa0c55ad015',
  'of letters in both cases': 'QwErTyUiOpAsDfGhJk',
  'in small letters': 'qpwoeirutyalskdjfhgmznxbcv',
  'that nothing tells from a word': 'hunter',
};

it.each(Object.entries(keys))('a key %s is not in the text', (_, key) => {
  expect(withoutKeys(`the upstream refused ${key}.`, key)).not.toContain(key);
});

it.each(Object.entries(keys).slice(0, -1))(
  'a key %s is not in the text, even if it is not the engine’s own',
  (_, key) => {
    expect(withoutKeys(`invalid_api_key(${key})`, undefined)).not.toContain(key);
  },
);

it.each([
  'context_length_exceeded',
  'invalid_request_error',
  'InvalidParameterValueException',
  'DataInspectionFailed',
  'RESOURCE_EXHAUSTED',
  '1210',
  'req_01997b2cf1d27aa5b0c6',
  '0198c3a2-7d1e-7c44-9b1a-2f6f1f0f3a77',
])('%s stays', (name) => {
  expect(withoutKeys(`the upstream answered 400 (${name})`, 'sk-own-key-0123456789')).toContain(name);
});
