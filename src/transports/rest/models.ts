/** The models in the shapes that agents read. */
import type { JsonObject } from '@bufbuild/protobuf';
import type {
  GetModelResponse,
  ListModelsResponse,
  Model,
} from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import type { Exchange } from './exchange.ts';
import type { AnswerShape } from './unary.ts';

const isOfMessages = ({ request }: Exchange) => request.headers['anthropic-version'] !== undefined;
const isCodex = ({ query }: Exchange) => query.has('client_version');

/** Other types cannot be called by these clients. */
const chatModelsOf = ({ data }: ListModelsResponse) => data.filter(({ type }) => type === 'chat');

export const listShapes: readonly AnswerShape[] = [
  { isFor: isCodex, encode: (list: ListModelsResponse) => ({ models: chatModelsOf(list).map(forCodex) }) },
  {
    isFor: isOfMessages,
    encode(list: ListModelsResponse) {
      const data = chatModelsOf(list).map(forMessages);
      return {
        data,
        has_more: false,
        first_id: data[0]?.['id'] ?? null,
        last_id: data.at(-1)?.['id'] ?? null,
      };
    },
  },
];

export const modelShapes: readonly AnswerShape[] = [
  { isFor: isOfMessages, encode: ({ model }: GetModelResponse) => (model ? forMessages(model) : null) },
];

/** The `ModelInfo` of Anthropic's SDKs. */
function forMessages({ id, created, contextWindow, maxOutputTokens }: Model): JsonObject {
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: new Date(Number(created) * 1000).toISOString(),
    max_input_tokens: contextWindow ?? null,
    max_tokens: maxOutputTokens ?? null,
    capabilities: null,
    lifecycle: 'active',
    line: null,
    deprecated_at: null,
    retires_at: null,
  };
}

/** Codex sends them in place of its own, which are 4,600 tokens long. It refuses a list without them. */
const codexInstructions = [
  'You are Codex, a coding agent in a terminal on the computer of the user. Be precise and brief.',
  'Use your tools to read files, run commands and change files, and go on until the task is done. Do not guess what a file says: read it.',
  'Follow the instructions of AGENTS.md files for the folders below them. Change no more than the task needs, in the style of the code around it.',
  'Check your work with the tests or the build of the project where there are any. Never undo changes that you have not made, and commit only if the user asks.',
  'At the end say in a few sentences what you have done, and what is left.',
].join('\n');

/** The `ModelInfo` of Codex, with its defaults for models that it does not know, and the true context. */
function forCodex({ id, description, contextWindow }: Model): JsonObject {
  return {
    slug: id,
    display_name: id,
    description: description ?? null,
    base_instructions: codexInstructions,
    ...(contextWindow !== undefined && { context_window: contextWindow, max_context_window: contextWindow }),
    visibility: 'list',
    supported_in_api: true,
    priority: 99,
    shell_type: 'default',
    truncation_policy: { mode: 'bytes', limit: 10_000 },
    supported_reasoning_levels: [],
    supports_reasoning_summaries: false,
    supports_parallel_tool_calls: false,
    support_verbosity: false,
    default_verbosity: null,
    apply_patch_tool_type: null,
    experimental_supported_tools: [],
    availability_nux: null,
    upgrade: null,
  };
}
