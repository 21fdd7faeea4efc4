/** Upstreams before which agents work: each refuses, streams and counts as one kind of server is known to. */
import type { Answer, ScriptedUpstream } from './scripted-upstream.ts';
import { events, json } from './upstream-answers.ts';

export type Json = Record<string, unknown>;

interface Message extends Json {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly Json[];
  readonly tool_call_id?: string;
}

interface ChatBody extends Json {
  readonly messages: readonly Message[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** A tool of an agent and its arguments. */
export type ToolCall = readonly [name: string, args: Json];

/** Tokens of an answer, as the upstream counts them. */
export interface CountedTokens {
  readonly prompt: number;
  readonly cached: number;
  /** Written to the cache. Default: 0. */
  readonly written?: number;
  readonly completion: number;
}

/** The words with which a person begins a task. A test's prompt must contain them. */
export const taskWords = 'Please do the task';
export const finalWords = 'All steps are done.';

export interface Manner {
  readonly name: string;
  /** Settings of the engine, besides its address and key. */
  readonly engine?: Json;
  /** The upstream's reason to refuse a request. */
  readonly refusal: (body: ChatBody) => string | undefined;
  /** The body of a 400 with this reason. */
  readonly error: (message: string) => unknown;
  /** The members that the model sends before or beside its calls of tools. */
  readonly thinking?: Json;
  readonly call: (id: string, name: string, args: string) => Json;
  /** The pieces of a streamed answer, whose last ones count the tokens. */
  readonly pieces: (message: Message, usage: Json) => readonly Json[];
  readonly usage: (tokens: CountedTokens) => Json;
}

export const thought = 'The next step of the task follows.';

const textOf = ({ content }: Message): string =>
  typeof content === 'string' ? content : JSON.stringify(content ?? '');

const calls = ({ tool_calls: made = [] }: Message) => made;

/** The rules that all of them have: results answer the calls before them, and roles are known. */
function disorder({ messages }: ChatBody, roles: readonly string[]): string | undefined {
  const open = new Set<unknown>();
  for (const message of messages) {
    if (!roles.includes(message.role)) return `unknown role ${message.role}`;
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id)) return `no call has the id ${message.tool_call_id}`;
      if (typeof message.content !== 'string' && !Array.isArray(message.content))
        return 'a result has no content';
    } else if (open.size > 0) return `no result for ${[...open].join()}`;
    for (const { id } of calls(message)) open.add(id);
  }
  return undefined;
}

const plainRoles = ['system', 'user', 'assistant', 'tool'];

/** Chat templates of open models take one system message, the first. */
const systemElsewhere = ({ messages }: ChatBody) =>
  messages.slice(1).some(({ role }) => role === 'system')
    ? 'System message must be at the beginning.'
    : undefined;

const withoutReasoning = ({ messages }: ChatBody) => {
  const at = messages.findIndex(
    (message) => calls(message).length > 0 && typeof message['reasoning_content'] !== 'string',
  );
  return at < 0
    ? undefined
    : `reasoning_content is missing in the assistant tool call message at index ${at}`;
};

/** Gemini signs the first call of each step of a turn. */
const withoutSignature = ({ messages }: ChatBody) =>
  messages.some(
    (message) => calls(message)[0] && !JSON.stringify(calls(message)[0]).includes('thought_signature'),
  )
    ? 'Function call is missing a thought_signature in functionCall parts.'
    : undefined;

const openAiMembers =
  /^(messages|model|stream|stream_options|tools|tool_choice|parallel_tool_calls|max_completion_tokens|temperature|top_p|stop|user|metadata|store|seed|n|response_format|reasoning_effort|verbosity|prompt_cache_key|prompt_cache_retention|safety_identifier|service_tier)$/;

const openAiMessageMembers = /^(role|content|name|tool_calls|tool_call_id|refusal|audio)$/;

/** OpenAI's API names the first member that it does not know, and takes pictures from users only. */
function unknownMember({ messages, ...body }: ChatBody): string | undefined {
  const unknown = Object.keys(body).find((name) => !openAiMembers.test(name));
  if (unknown !== undefined) return `Unknown parameter: '${unknown}'.`;
  for (const message of messages) {
    const member = Object.keys(message).find((name) => !openAiMessageMembers.test(name));
    if (member !== undefined) return `Unknown parameter: 'messages[].${member}'.`;
    if (message.role === 'tool' && textOf(message).includes('image_url'))
      return 'A tool message has a picture.';
  }
  return undefined;
}

const functionCall = (id: string, name: string, args: string): Json => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});

function piece(delta: Json, choice: Json = {}, more: Json = {}): Json {
  const choices = [{ index: 0, delta, finish_reason: null, ...choice }];
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'm',
    choices,
    ...more,
  };
}

const finishOf = (message: Message) => (calls(message).length > 0 ? 'tool_calls' : 'stop');

/** Calls in pieces: first the id and the name, then the arguments in two halves. */
function callPieces(message: Message, laterId: Json): Json[] {
  return calls(message).flatMap((call, index) => {
    const { name, arguments: args } = call['function'] as { name: string; arguments: string };
    const rest = [args.slice(0, 5), args.slice(5)];
    return [
      piece({ tool_calls: [{ ...call, index, function: { name, arguments: '' } }] }),
      ...rest.map((half) => piece({ tool_calls: [{ index, ...laterId, function: { arguments: half } }] })),
    ];
  });
}

function textPieces(message: Message): Json[] {
  const text = textOf(message);
  return message.content ? [text.slice(0, 4), text.slice(4)].map((content) => piece({ content })) : [];
}

const countsOfOpenAi = ({ prompt, cached, completion }: CountedTokens): Json => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  prompt_tokens_details: { cached_tokens: cached },
});

const errorOfOpenAi = (message: string) => ({
  error: { message, type: 'invalid_request_error', param: null, code: null },
});

/** How vLLM serves Qwen, which most people run themselves. */
export const openModel: Manner = {
  name: 'vLLM with Qwen',
  refusal: (body) => disorder(body, plainRoles) ?? systemElsewhere(body),
  error: (message) => ({ object: 'error', message, type: 'BadRequestError', param: null, code: 400 }),
  thinking: { reasoning: thought },
  call: functionCall,
  usage: (tokens) => ({ ...countsOfOpenAi(tokens), prompt_tokens_details: { cached_tokens: tokens.cached } }),
  // The last chunk has only counts, and no role follows the first one.
  pieces: (message, usage) => [
    piece({ role: 'assistant', content: '' }, { logprobs: null }),
    piece({ reasoning: message['reasoning'] }, { logprobs: null }),
    ...textPieces(message),
    ...callPieces(message, { id: null, type: null }),
    piece({}, { finish_reason: finishOf(message), stop_reason: null, token_ids: null }),
    { ...piece({}), choices: [], usage },
  ],
};

export const manners: readonly Manner[] = [
  {
    name: 'DeepSeek',
    refusal: (body) => disorder(body, plainRoles) ?? systemElsewhere(body) ?? withoutReasoning(body),
    error: errorOfOpenAi,
    thinking: { reasoning_content: thought },
    call: functionCall,
    // Counts come with the last choice, and their names of the cache are DeepSeek's own.
    usage: (tokens) => ({
      ...countsOfOpenAi(tokens),
      prompt_tokens_details: undefined,
      prompt_cache_hit_tokens: tokens.cached,
      prompt_cache_miss_tokens: tokens.prompt - tokens.cached,
    }),
    pieces: (message, usage) => [
      piece({ role: 'assistant', content: null, reasoning_content: '' }),
      piece({ content: null, reasoning_content: message['reasoning_content'] }),
      ...textPieces(message),
      ...callPieces(message, {}),
      piece({ content: '', reasoning_content: null }, { finish_reason: finishOf(message) }, { usage }),
    ],
  },
  openModel,
  {
    name: 'Kimi',
    refusal: (body) => disorder(body, plainRoles) ?? systemElsewhere(body) ?? withoutReasoning(body),
    error: (message) => ({ error: { message, type: 'invalid_request_error' } }),
    thinking: { reasoning_content: thought },
    call: (id, name, args) => functionCall(`functions.${name}:${id.replace('call_', '')}`, name, args),
    // Counts are inside of the choice.
    usage: (tokens) => ({ ...countsOfOpenAi(tokens), cached_tokens: tokens.cached }),
    pieces: (message, usage) => [
      piece({ role: 'assistant', content: '' }),
      piece({ reasoning_content: message['reasoning_content'] }),
      ...textPieces(message),
      ...callPieces(message, {}),
      piece({}, { finish_reason: finishOf(message), usage }),
    ],
  },
  {
    name: 'Gemini',
    refusal: (body) => disorder(body, plainRoles) ?? withoutSignature(body),
    error: (message) => [{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }],
    call: (id, name, args) => ({
      ...functionCall(id, name, args),
      extra_content: { google: { thought_signature: Buffer.from(`signed ${id}`).toString('base64') } },
    }),
    usage: countsOfOpenAi,
    // Calls are whole and have no index; every chunk counts what there is so far.
    pieces: (message, usage) => [
      ...textPieces(message).map((part) => ({ ...part, usage: { ...usage, completion_tokens: 1 } })),
      piece(
        { role: 'assistant', ...(calls(message).length > 0 && { tool_calls: calls(message) }) },
        { finish_reason: 'stop' },
        { usage },
      ),
    ],
  },
  {
    name: 'OpenAI',
    // The default for the address of OpenAI.
    engine: { outputLimit: 'max_completion_tokens' },
    refusal: (body) => disorder(body, [...plainRoles, 'developer']) ?? unknownMember(body),
    error: errorOfOpenAi,
    call: functionCall,
    usage: countsOfOpenAi,
    pieces: (message, usage) => [
      piece(
        { role: 'assistant', content: message.content ?? null, refusal: null },
        {},
        { obfuscation: 'aB3' },
      ),
      ...callPieces(message, {}),
      piece({}, { finish_reason: finishOf(message) }, { usage: null, obfuscation: '' }),
      { ...piece({}), choices: [], usage, obfuscation: 'x' },
    ],
  },
];

export interface AgentUpstream {
  /** Tokens of each answer, in the order of the requests. */
  readonly counted: CountedTokens[];
  /** The reasons of refused requests. */
  readonly refused: string[];
}

/** Makes the upstream a model that calls these tools in turn, one a request, and then ends. */
export function playAgent(
  upstream: ScriptedUpstream,
  manner: Manner,
  task: readonly ToolCall[],
): AgentUpstream {
  const played: AgentUpstream = { counted: [], refused: [] };
  const answer: Answer = (exchange) => {
    const body = exchange.request.json as ChatBody;
    const refusal = manner.refusal(body);
    if (refusal !== undefined) {
      played.refused.push(refusal);
      return json(manner.error(refusal), { status: 400 })(exchange);
    }
    const number = played.counted.length;
    const tokens = { prompt: 5_000 + 100 * number, cached: 64 * number, completion: 20 + number };
    played.counted.push(tokens);
    const usage = manner.usage(tokens);
    const message = nextMessage(manner, body, task, `call_${number}`);
    if (body['stream'] === true) return events(manner.pieces(message, usage))(exchange);
    const choices = [{ index: 0, message, finish_reason: finishOf(message) }];
    return json({ ...piece({}), object: 'chat.completion', choices, usage })(exchange);
  };
  upstream.answer('/chat/completions', answer);
  return played;
}

function nextMessage(manner: Manner, body: ChatBody, task: readonly ToolCall[], id: string): Message {
  const { messages, tools = [] } = body;
  const since = messages.findLastIndex(
    (message) => message.role === 'user' && textOf(message).includes(taskWords),
  );
  const results = messages.slice(since).filter(({ role }) => role === 'tool').length;
  const next = since < 0 || tools.length === 0 ? undefined : task[results];
  if (next === undefined) return { role: 'assistant', content: finalWords };
  const [name, args] = next;
  if (!tools.some((tool) => tool.function.name === name)) throw new Error(`the agent has no tool ${name}`);
  const call = manner.call(id, name, JSON.stringify(args));
  return { role: 'assistant', content: null, ...manner.thinking, tool_calls: [call] };
}
