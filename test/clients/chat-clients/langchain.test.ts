/** LangChain.js. */
import { HumanMessage, type UsageMetadata } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { describeChatClient, type OpenChatClient, type Server } from './play.ts';

process.env['LANGCHAIN_TRACING_V2'] = 'false';

function openWith(useResponsesApi: boolean): (server: Server) => OpenChatClient {
  return ({ baseUrl, apiKey }) => {
    const modelOf = (model: string) =>
      new ChatOpenAI({ model, apiKey, configuration: { baseURL: baseUrl }, useResponsesApi });
    return {
      async ask({ model, prompt, signal }) {
        const answer = await modelOf(model).invoke([new HumanMessage(prompt)], { ...(signal && { signal }) });
        return { text: answer.text, usage: usageOf(answer) };
      },
      async *stream({ model, prompt, signal }) {
        for await (const { text } of await modelOf(model).stream(prompt, { ...(signal && { signal }) }))
          yield text;
      },
      errorOf(thrown) {
        const { status, code } = thrown as { status?: number; code?: string };
        return { status, code };
      },
    };
  };
}

function usageOf({ usage_metadata: usage }: { usage_metadata?: UsageMetadata | undefined }) {
  return { input: usage?.input_tokens, output: usage?.output_tokens };
}

describeChatClient({ name: 'LangChain.js, chat completions', open: openWith(false) });
describeChatClient({ name: 'LangChain.js, responses', open: openWith(true), ignoresFailedResponses: true });
