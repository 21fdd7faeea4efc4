/** Numbers that are valid JSON and too large for a double. */
import { afterAll, expect, it } from 'vitest';
import { errorOf, startParley } from '../../support/parley.ts';

const parley = await startParley();
afterAll(() => parley.close());

const messages = '"messages": [{"role": "user", "content": "Hi"}]';

it.each([
  ['/chat/completions', `${messages}, "temperature": 1e999`, 'temperature'],
  ['/chat/completions', `${messages}, "stream": true, "logit_bias": {"7": -1e400}`, 'logit_bias.7'],
  ['/chat/completions', `${messages}, "unheard": {"of": [1, 1e999]}`, 'unheard.of[1]'],
  ['/responses', '"input": "Hi", "top_p": 1e999', 'top_p'],
  ['/messages', `${messages}, "max_tokens": 9, "temperature": 1e999`, 'temperature'],
  ['/messages/count_tokens', `${messages}, "temperature": 1e999`, 'temperature'],
  ['/completions', '"prompt": "Hi", "presence_penalty": -1e999', 'presence_penalty'],
])('%s refuses %s', async (path, members, param) => {
  const body = `{"model": "eliza", ${members}}`;
  const answer = await parley.call(path, { method: 'POST', body });
  expect(answer.status).toBe(400);
  expect(await errorOf(answer)).toMatchObject({ code: 'invalid_parameter', param });
});

it('a member that is dropped has no effect, whatever is in it', async () => {
  const body = '{"model": "flite", "input": "Hi", "speed": 1e999}';
  expect((await parley.call('/audio/speech', { method: 'POST', body })).status).toBe(200);
});
