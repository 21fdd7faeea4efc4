/** OpenAI's SDK for Node. */
import OpenAI from 'openai';
import { errorOfOpenAi } from './openai-errors.ts';
import { type Ask, describeChatClient, type OpenChatClient, type Server } from './play.ts';

function openChat({ baseUrl, apiKey }: Server): OpenChatClient {
  const client = new OpenAI({ baseURL: baseUrl, apiKey });
  const body = ({ model, prompt }: Ask) => ({
    model,
    messages: [{ role: 'user' as const, content: prompt }],
  });
  return {
    async ask(ask) {
      const { choices, usage } = await client.chat.completions.create(body(ask), { signal: ask.signal });
      return {
        text: choices[0]?.message.content ?? '',
        usage: { input: usage?.prompt_tokens, output: usage?.completion_tokens },
      };
    },
    async *stream(ask) {
      const options = { signal: ask.signal };
      const stream = await client.chat.completions.create({ ...body(ask), stream: true }, options);
      for await (const { choices } of stream) yield choices[0]?.delta.content ?? '';
    },
    errorOf: errorOfOpenAi,
  };
}

describeChatClient({ name: 'openai, chat completions', open: openChat });
