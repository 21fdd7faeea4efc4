/** OpenAI's agents, with responses by default, and with chat completions. */
import { Agent, OpenAIProvider, Runner } from '@openai/agents';
import { errorOfOpenAi } from './openai-errors.ts';
import { type Ask, describeChatClient, type OpenChatClient, type Server } from './play.ts';

function openWith(useResponses: boolean): (server: Server) => OpenChatClient {
  return ({ baseUrl, apiKey }) => {
    const modelProvider = new OpenAIProvider({ baseURL: baseUrl, apiKey, useResponses });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const agentOf = ({ model }: Ask) => new Agent({ name: 'Parley', instructions: 'Be brief.', model });
    return {
      async ask(ask) {
        const { finalOutput = '', state } = await runner.run(agentOf(ask), ask.prompt, {
          ...(ask.signal && { signal: ask.signal }),
        });
        return {
          text: finalOutput,
          usage: { input: state.usage.inputTokens, output: state.usage.outputTokens },
        };
      },
      async *stream(ask) {
        const result = await runner.run(agentOf(ask), ask.prompt, {
          stream: true,
          ...(ask.signal && { signal: ask.signal }),
        });
        for await (const text of result.toTextStream()) yield text;
        await result.completed;
      },
      errorOf: errorOfOpenAi,
    };
  };
}

describeChatClient({ name: '@openai/agents, chat completions', open: openWith(false) });
describeChatClient({ name: '@openai/agents, responses', open: openWith(true) });
