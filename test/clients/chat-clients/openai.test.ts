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

function openResponses({ baseUrl, apiKey }: Server): OpenChatClient {
  const client = new OpenAI({ baseURL: baseUrl, apiKey });
  return {
    async ask({ model, prompt: input, signal }) {
      const response = await client.responses.create({ model, input }, { signal });
      const { usage } = response;
      return {
        text: response.output_text,
        usage: { input: usage?.input_tokens, output: usage?.output_tokens },
      };
    },
    async *stream({ model, prompt: input, signal }) {
      const events = await client.responses.create({ model, input, stream: true }, { signal });
      for await (const event of events) {
        if (event.type === 'response.output_text.delta') yield event.delta;
        if (event.type === 'response.failed') throw new Error(event.response.error?.message);
      }
    },
    errorOf: errorOfOpenAi,
  };
}

describeChatClient({ name: 'openai, chat completions', open: openChat });
describeChatClient({ name: 'openai, responses', open: openResponses });
