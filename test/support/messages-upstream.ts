/** An upstream of the Messages API before which agents work. */
import {
  type AgentUpstream,
  type CountedTokens,
  finalWords,
  type Json,
  type ToolCall,
  taskWords,
  thought,
} from './agent-upstream.ts';
import type { ScriptedUpstream } from './scripted-upstream.ts';
import { eventText, json } from './upstream-answers.ts';

interface MessagesBody extends Json {
  readonly system?: readonly Json[];
  readonly messages: readonly { readonly role: string; readonly content: readonly Json[] }[];
  readonly tools?: readonly { readonly name: string }[];
}

/** The rules of the Messages API, of which agents break some before servers that only resemble it. */
function messagesRefusal({ system = [], messages, tools = [] }: MessagesBody): string | undefined {
  const open = new Set<unknown>();
  const blocks = [...system, ...tools, ...messages.flatMap(({ content }) => content)] as Json[];
  if (blocks.filter((block) => block['cache_control']).length > 4)
    return 'A maximum of 4 blocks with cache_control';
  if (blocks.some(({ type, text }) => type === 'text' && text === ''))
    return 'text content blocks must be non-empty';
  for (const { role, content } of messages) {
    if (role !== 'user' && role !== 'assistant') return `unexpected role ${role}`;
    for (const block of content) {
      const { type, id, tool_use_id: answered, signature } = block;
      if (type === 'thinking' && signature !== signedThought.signature)
        return 'Invalid signature in thinking block';
      if (type === 'tool_use') open.add(id);
      if (type === 'tool_result' && !open.delete(answered)) return `unexpected tool_use_id ${answered}`;
    }
    if (role === 'assistant' && open.size > 0 && content[0]?.['type'] !== 'thinking') {
      return 'Expected thinking before tool_use';
    }
    if (role === 'user' && open.size > 0) return `no tool_result for ${[...open].join()}`;
  }
  return undefined;
}

const signedThought = { type: 'thinking', thinking: thought, signature: 'c2lnbmVk' };

/** Makes an upstream of the Messages API a model that works as that of `playAgent`, which counts what it writes to its cache. */
export function playMessages(upstream: ScriptedUpstream, task: readonly ToolCall[]): AgentUpstream {
  const played: AgentUpstream = { counted: [], refused: [] };
  upstream.answer('/messages/count_tokens', json({ input_tokens: 5_000 }));
  upstream.answer('/messages', (exchange) => {
    const body = exchange.request.json as MessagesBody;
    const refusal = messagesRefusal(body);
    if (refusal !== undefined) {
      played.refused.push(refusal);
      const error = { type: 'invalid_request_error', message: refusal };
      return json({ type: 'error', error }, { status: 400 })(exchange);
    }
    const number = played.counted.length;
    const tokens = {
      prompt: 5_000 + 100 * number,
      cached: 64 * number,
      written: 10 * number,
      completion: 20,
    };
    played.counted.push(tokens);
    return eventText(messageEvents(nextBlocks(body, task, `toolu_${number}`), tokens))(exchange);
  });
  return played;
}

function nextBlocks({ messages, tools = [] }: MessagesBody, task: readonly ToolCall[], id: string): Json[] {
  const since = messages.findLastIndex(({ content }) => JSON.stringify(content).includes(taskWords));
  const results = messages
    .slice(since)
    .flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'));
  const next = since < 0 || tools.length === 0 ? undefined : task[results.length];
  if (next === undefined) return [{ type: 'text', text: finalWords }];
  const [name, input] = next;
  return [signedThought, { type: 'tool_use', id, name, input }];
}

function messageEvents(
  content: readonly Json[],
  { prompt, cached, written = 0, completion }: CountedTokens,
): string[] {
  const usage = {
    input_tokens: prompt - cached - written,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
    output_tokens: 1,
  };
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    usage,
  };
  const isCall = content.some(({ type }) => type === 'tool_use');
  const events: Json[] = [
    { type: 'message_start', message },
    ...content.flatMap((block, index) => {
      const { text, thinking, signature, input, ...begun } = block;
      const deltas = [
        text !== undefined && { type: 'text_delta', text },
        thinking !== undefined && { type: 'thinking_delta', thinking },
        signature !== undefined && { type: 'signature_delta', signature },
        input !== undefined && { type: 'input_json_delta', partial_json: JSON.stringify(input) },
      ].filter(Boolean);
      const empty = {
        ...(text !== undefined && { text: '' }),
        ...(thinking !== undefined && { thinking: '', signature: '' }),
        ...(input !== undefined && { input: {} }),
      };
      return [
        { type: 'content_block_start', index, content_block: { ...begun, ...empty } },
        { type: 'ping' },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ];
    }),
    {
      type: 'message_delta',
      delta: { stop_reason: isCall ? 'tool_use' : 'end_turn' },
      usage: { output_tokens: completion },
    },
    { type: 'message_stop' },
  ];
  return events.map((event) => `event: ${event['type']}\ndata: ${JSON.stringify(event)}\n\n`);
}
