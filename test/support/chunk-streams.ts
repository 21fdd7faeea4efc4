/** Streamed answers in the layouts of the servers that people run, byte for byte, but short. */

const events = (...data: readonly string[]) => data.map((each) => `data: ${each}\n\n`).join('');
const done = '[DONE]';

const openAiHead =
  '{"id":"chatcmpl-B9","object":"chat.completion.chunk","created":1741569952,"model":"gpt-4.1-2025-04-14","service_tier":"default","system_fingerprint":"fp_a1",';
const openAi = (delta: string, padding: string, finish = 'null') =>
  `${openAiHead}"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}],"usage":null,"obfuscation":"${padding}"}`;

const vllm = (delta: string, finish = 'null') =>
  `{"id":"chatcmpl-7f","object":"chat.completion.chunk","created":1733000000,"model":"Qwen/Qwen3-8B","choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]}`;

const llamaCpp = (delta: string, created: number, finish = 'null') =>
  `{"choices":[{"finish_reason":${finish},"index":0,"delta":${delta}}],"created":${created},"id":"chatcmpl-xZ","model":"m.gguf","system_fingerprint":"b5000-1","object":"chat.completion.chunk"}`;

const ollama = (content: string, created: number, finish = 'null') =>
  `{"id":"chatcmpl-501","object":"chat.completion.chunk","created":${created},"model":"llama3.2","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"${content}"},"finish_reason":${finish}}]}`;

/** The spaces and escapes of Python's `json.dumps`. */
const python = (delta: string, finish = 'null') =>
  `{"id": "chatcmpl-py", "object": "chat.completion.chunk", "created": 1700000001.25, "model": "local", "choices": [{"index": 0, "delta": ${delta}, "logprobs": null, "finish_reason": ${finish}}]}`;

const liteLlm = (delta: string, finish = '') =>
  `{"id":"chatcmpl-l1","created":1730000000,"model":"claude","object":"chat.completion.chunk","choices":[{${finish}"index":0,"delta":${delta}}],"citations":null}`;

const safe = '{"hate":{"filtered":false,"severity":"safe"},"violence":{"filtered":false,"severity":"safe"}}';
const azure = (delta: string, filtered = safe, finish = 'null') =>
  `{"choices":[{"content_filter_results":${filtered},"delta":${delta},"finish_reason":${finish},"index":0,"logprobs":null}],"created":1726000000,"id":"chatcmpl-Az","model":"gpt-4o","object":"chat.completion.chunk","system_fingerprint":"fp_67","usage":null}`;

const mistral = (delta: string, padding: string, finish = 'null', usage = '') =>
  `{"id":"cmpl-e5","object":"chat.completion.chunk","created":1702256327,"model":"mistral-small","choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]${usage},"p":"${padding}"}`;

const groq = (delta: string, more = '', finish = 'null') =>
  `{"id":"chatcmpl-g0","object":"chat.completion.chunk","created":1710000000,"model":"llama-3.1-8b-instant","system_fingerprint":"fp_gr","choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]${more}}`;

const deepSeek = (content: string, reasoning: string, more = '', finish = 'null') =>
  `{"id":"9c-1","object":"chat.completion.chunk","created":1718345013,"model":"deepseek-reasoner","system_fingerprint":"fp_d","choices":[{"index":0,"delta":{"content":${content},"reasoning_content":${reasoning}},"logprobs":null,"finish_reason":${finish}}]${more}}`;

const openRouter = (delta: string, finish = 'null', more = '') =>
  `{"id":"gen-17","provider":"Together","model":"deepseek/r1","object":"chat.completion.chunk","created":1745000000,"choices":[{"index":0,"delta":${delta},"finish_reason":${finish},"native_finish_reason":${finish},"logprobs":null}]${more}}`;
const thought = (text: string) =>
  openRouter(
    `{"role":"assistant","content":"","reasoning":"${text}","reasoning_details":[{"type":"reasoning.text","text":"${text}","format":"unknown","index":0}]}`,
  );

const choice = (index: number, content: string, finish = 'null') =>
  `{"id":"chatcmpl-n","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":${index},"delta":{"content":"${content}"},"finish_reason":${finish}}]}`;
const call = (args: string) => vllm(`{"tool_calls":[{"index":0,"function":{"arguments":"${args}"}}]}`);
const logged = (text: string, probability: number) =>
  `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"${text}"},"logprobs":{"content":[{"token":"${text}","logprob":${probability},"bytes":[72],"top_logprobs":[]}],"refusal":null},"finish_reason":null}]}`;

const usage = '"usage":{"prompt_tokens":14,"completion_tokens":6,"total_tokens":20}';

/** By the name of the server, or of what is special. */
export const chunkStreams: Readonly<Record<string, string>> = {
  OpenAI: events(
    openAi('{"role":"assistant","content":"","refusal":null}', 'Tq9'),
    openAi('{"content":"Hello"}', 'wV4'),
    openAi('{"content":" \\"you\\"\\n"}', ''),
    openAi('{"content":"! 1234567890123456789"}', 'kDm2xQ'),
    openAi('{"content":" 👋🏽"}', 'b'),
    openAi('{"content":""}', 'bbb'),
    openAi('{}', 'F1', '"stop"'),
    `${openAiHead}"choices":[],${usage},"obfuscation":""}`,
    done,
  ),
  vLLM: events(
    vllm('{"role":"assistant","content":""}'),
    vllm('{"content":"你"}'),
    vllm('{"content":"好, é\\t"}'),
    vllm('{"content":"b\\/c"}'),
    vllm('{"content":"."}'),
    vllm('{"content":""}', '"length","stop_reason":null'),
    `{"id":"chatcmpl-7f","object":"chat.completion.chunk","created":1733000000,"model":"Qwen/Qwen3-8B","choices":[],${usage}}`,
    done,
  ),
  'llama.cpp': events(
    llamaCpp('{"role":"assistant","content":null}', 1735000000),
    llamaCpp('{"content":"One"}', 1735000000),
    llamaCpp('{"content":" two"}', 1735000000),
    llamaCpp('{"content":" three"}', 1735000001),
    llamaCpp('{"content":" four"}', 1735000001),
    llamaCpp('{}', 1735000001, '"stop"'),
    `{"choices":[],"created":1735000001,"id":"chatcmpl-xZ","model":"m.gguf","object":"chat.completion.chunk",${usage},"timings":{"prompt_n":14,"predicted_per_second":51.30}}`,
    done,
  ),
  Ollama: events(
    ollama('The', 1728000000),
    ollama(' sky', 1728000000),
    ollama(' is\\u003cb\\u003e', 1728000001),
    ollama('blue', 1728000001),
    ollama('', 1728000001, '"stop"'),
    `{"id":"chatcmpl-501","object":"chat.completion.chunk","created":1728000001,"model":"llama3.2","system_fingerprint":"fp_ollama","choices":[],${usage}}`,
    done,
  ),
  'a server in Python': events(
    python('{"role": "assistant"}'),
    python('{"content": "caf\\u00e9"}'),
    python('{"content": " \\ud83d\\ude00"}'),
    python('{"content": " \\ud83d"}'),
    python('{"content": " plain"}'),
    python('{}', '"stop"'),
    done,
  ),
  LiteLLM: events(
    liteLlm('{"content":"Sure","role":"assistant"}'),
    liteLlm('{"content":","}'),
    liteLlm('{"content":" here"}'),
    liteLlm('{}', '"finish_reason":"stop",'),
    `{"id":"chatcmpl-l1","created":1730000000,"model":"claude","object":"chat.completion.chunk","choices":[{"index":0,"delta":{}}],${usage}}`,
    done,
  ),
  'Azure with filters of content': events(
    '{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}',
    azure('{"content":"","refusal":null,"role":"assistant"}', '{}'),
    azure('{"content":"Good"}'),
    azure('{"content":" day"}'),
    azure('{"content":" !"}', safe.replace('safe', 'low')),
    azure('{"content":"?"}'),
    azure('{}', '{}', '"stop"'),
    `{"choices":[],"created":1726000000,"id":"chatcmpl-Az","model":"gpt-4o","object":"chat.completion.chunk","system_fingerprint":"fp_67",${usage}}`,
    done,
  ),
  Mistral: events(
    mistral('{"role":"assistant","content":""}', 'abc'),
    mistral('{"content":"Bon"}', 'abcdef'),
    mistral('{"content":"jour"}', 'abcdefghi'),
    mistral('{"content":" à"}', ''),
    mistral('{"content":""}', 'ab', '"stop"', `,${usage}`),
    done,
  ),
  Groq: events(
    groq('{"role":"assistant","content":""}', ',"x_groq":{"id":"req_1","seed":9007199254740993}'),
    groq('{"content":"Fast"}'),
    groq('{"content":" and"}'),
    groq('{"content":" cheap"}'),
    groq('{}', `,"x_groq":{"id":"req_1",${usage}}`, '"stop"'),
    done,
  ),
  'DeepSeek with reasoning': [
    ': keep-alive\n\n',
    events(
      deepSeek('""', 'null'),
      deepSeek('null', '"First"'),
      deepSeek('null', '" think"'),
      deepSeek('"Then"', 'null'),
      deepSeek('" say"', 'null'),
      deepSeek('"both"', '"at once"'),
      deepSeek('"again"', '"and so"'),
      deepSeek('""', 'null', `,${usage}`, '"stop"'),
      done,
    ),
  ].join(''),
  'OpenRouter with comments': [
    ': OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n',
    events(thought('Hm'), thought(' so'), thought('\\n')),
    ': OPENROUTER PROCESSING\n',
    events(
      openRouter('{"role":"assistant","content":"Yes","reasoning":null,"reasoning_details":[]}'),
      openRouter('{"role":"assistant","content":" no","reasoning":null,"reasoning_details":[]}'),
      openRouter('{"role":"assistant","content":""}', '"stop"'),
      openRouter('{"role":"assistant","content":""}', 'null', `,${usage}`),
      done,
    ),
  ].join(''),
  'several choices': events(
    choice(0, 'a'),
    choice(1, 'b'),
    choice(0, 'c'),
    choice(1, 'd'),
    choice(1, 'e', '"stop"'),
    choice(0, 'f'),
    choice(0, '', '"length"'),
    choice(1, 'late'),
    done,
  ),
  'a tool call': events(
    vllm(
      '{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":""}}]}',
    ),
    call('{\\"'),
    call('city'),
    call('\\":\\"Paris\\"}'),
    vllm('{}', '"tool_calls"'),
    done,
  ),
  'log probabilities': events(
    logged('H', -0.1),
    logged('i', -1e-7),
    logged('!', -2.5),
    vllm('{}', '"stop"'),
    done,
  ),
  'lines that end with CRLF': events(
    vllm('{"content":"a"}'),
    vllm('{"content":"b"}'),
    vllm('{"content":"c"}'),
    vllm('{}', '"stop"'),
    done,
  ).replaceAll('\n', '\r\n'),
  'events of several lines': events(
    vllm('{"content":"a"}').replaceAll(',"', ',\ndata: "'),
    vllm('{"content":"b"}').replaceAll(',"', ',\ndata: "'),
    vllm('{}', '"stop"'),
    done,
  ),
  'names and numbers of events': [
    `id: 1\nevent: chunk\ndata:${vllm('{"content":"a"}')}\n\n`,
    `id: 2\nretry: 10\ndata:${vllm('{"content":"b"}')}\n\n`,
    `id: 3\ndata:${vllm('{"content":"c"}')}\n\n`,
    events(vllm('{}', '"stop"'), done),
  ].join(''),
  'usage in each event': events(
    choice(0, 'a').replace(/}$/, ',"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}'),
    choice(0, 'b').replace(/}$/, ',"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}'),
    choice(0, '', '"stop"'),
    done,
  ),
  'usage that comes again': events(
    choice(0, 'a').replace(/}$/, `,${usage}}`),
    choice(0, 'b').replace(/}$/, ',"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}'),
    choice(0, 'c').replace(/}$/, `,${usage}}`),
    choice(0, '', '"stop"'),
    done,
  ),
  'text with the finish reason': events(
    choice(0, 'a', '"stop"'),
    choice(1, 'b', '"stop"'),
    choice(0, 'c', '"stop"'),
    choice(0, '', '"stop"'),
    choice(1, 'd', '"stop"'),
    done,
  ),
  'no heads and other types': events(
    '{"choices":[{"delta":{"content":"a"}}],"usage":0}',
    '{"choices":[{"delta":{"content":"b"}}],"usage":0}',
    '{"id":7,"created":"8","choices":[{"delta":{"content":"c"},"2":1,"1":{"content":"d"}}]}',
    '{"id":7,"created":"8","choices":[{"delta":{"content":"e"},"2":1,"1":{"content":"f"}}]}',
    '{"choices":[{"delta":{"content":"g","content":"h"}}]}',
    '{"choices":[{"delta":{"content":"i","content":"k"}}]}',
    '{"choices":[{"delta":{},"finish_reason":"stop"}]}',
    done,
  ),
  'an end without [DONE]': events(choice(0, 'a'), choice(0, 'b'), choice(0, 'c'), choice(0, '', '"stop"')),
  'an early end': events(choice(0, 'a'), choice(0, 'b'), choice(0, 'c')),
  'an end within an event': events(choice(0, 'a'), choice(0, 'b')) + choice(0, 'c').slice(0, -9),
  'an error in mid-stream': events(
    choice(0, 'a'),
    choice(0, 'b'),
    '{"error":{"message":"too much","type":"server_error","code":"x"}}',
    choice(0, 'c'),
  ),
  'an error in an event of its own': `${events(choice(0, 'a'), choice(0, 'b'))}event: error\ndata: ${choice(0, 'c')}\n\n`,
  'an event that is not JSON': events(choice(0, 'a'), choice(0, 'b'), choice(0, 'c\\x'), choice(0, 'd')),
  'text after an event': events(choice(0, 'a'), choice(0, 'b'), `${choice(0, 'c')} `, `${choice(0, 'd')}}`),
  'a string that does not end': events(choice(0, 'a'), choice(0, 'b'), choice(0, 'c').slice(0, 120)),
  'a control character': events(choice(0, 'a'), choice(0, 'b'), choice(0, 'c\t')),
};
