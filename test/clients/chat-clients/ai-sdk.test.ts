/** The AI SDK with the two providers that people use for such a server. */
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, type LanguageModel, RetryError, streamText } from 'ai';
import { type Ask, describeChatClient, type OpenChatClient, type Server } from './play.ts';

type Provide = (server: Server) => (model: string) => LanguageModel;

function openWith(provide: Provide): (server: Server) => OpenChatClient {
  return (server) => {
    const modelOf = provide(server);
    const options = ({ prompt, model, signal }: Ask) => ({
      prompt,
      model: modelOf(model),
      ...(signal && { abortSignal: signal }),
    });
    return {
      async ask(ask) {
        const { text, usage } = await generateText(options(ask));
        return { text, usage: { input: usage.inputTokens, output: usage.outputTokens } };
      },
      async *stream(ask) {
        // Errors are parts of the stream. Without this they would be printed.
        const { fullStream } = streamText({ ...options(ask), onError: () => undefined });
        for await (const part of fullStream) {
          if (part.type === 'error') throw part.error;
          if (part.type === 'text-delta') yield part.text;
        }
      },
      errorOf(thrown) {
        const error = RetryError.isInstance(thrown) ? thrown.lastError : thrown;
        if (!APICallError.isInstance(error)) return { status: undefined };
        const { error: told } = JSON.parse(error.responseBody ?? '{}') as { error?: { code: string } };
        return { status: error.statusCode, code: told?.code };
      },
    };
  };
}

const compatible: Provide = ({ baseUrl, apiKey }) =>
  createOpenAICompatible({ name: 'parley', baseURL: baseUrl, apiKey, includeUsage: true });
const chat: Provide = ({ baseUrl, apiKey }) => createOpenAI({ baseURL: baseUrl, apiKey }).chat;

const responses: Provide = ({ baseUrl, apiKey }) => createOpenAI({ baseURL: baseUrl, apiKey });

describeChatClient({ name: '@ai-sdk/openai-compatible', open: openWith(compatible) });
describeChatClient({ name: '@ai-sdk/openai, chat()', open: openWith(chat) });
describeChatClient({ name: '@ai-sdk/openai, responses', open: openWith(responses) });
