/** Requests of programs that are too large to run here, as these programs send them. */

interface RecordedRequest {
  /** The program and its part that sends the request. */
  readonly from: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RecordedJson extends RecordedRequest {
  readonly body: Readonly<Record<string, unknown>>;
}

export interface RecordedForm extends RecordedRequest {
  /** The name of the file, and the fields before and after it in their order. */
  readonly fileName: string;
  readonly fields: readonly (readonly [string, string])[];
}

const user = { role: 'user', content: 'My brother never listens to me.' };
const system = { role: 'system', content: 'Be brief.' };
const model = 'gpt-4o-mini';

export const chats: readonly RecordedJson[] = [
  {
    from: 'Open WebUI, a chat',
    headers: {
      'x-openwebui-user-name': 'J%C3%BCrgen',
      'x-openwebui-user-role': 'admin',
      'x-openwebui-chat-id': '0d7e4f0a-7a0c-4c5f-9d8e-2f1f6b1c9c11',
    },
    body: { stream: true, model, messages: [system, user], stream_options: { include_usage: true } },
  },
  {
    from: 'Open WebUI, the title of a chat',
    body: { model, messages: [user], stream: false, max_completion_tokens: 1000 },
  },
  {
    from: 'Home Assistant, Extended OpenAI Conversation',
    headers: { 'x-stainless-lang': 'python' },
    body: {
      model,
      messages: [system, { ...user, name: 'ada' }],
      max_tokens: 150,
      top_p: 1,
      temperature: 0.5,
      user: '01JD6Z4Q4N6N5W1Y9B1RZK9V3C',
      tools: [
        {
          type: 'function',
          function: {
            name: 'execute_services',
            description: 'Use this function to execute service of devices in Home Assistant.',
            parameters: {
              type: 'object',
              properties: { list: { type: 'array', items: { type: 'object' } } },
            },
          },
        },
      ],
      tool_choice: 'auto',
    },
  },
  {
    from: 'n8n, the chat model without the Responses API, with its default of no limit',
    headers: { 'x-stainless-lang': 'js' },
    body: { model, temperature: 0.7, top_p: 1, max_tokens: -1, stream: false, messages: [system, user] },
  },
  {
    from: 'LibreChat, a custom endpoint',
    body: {
      model,
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      user: '665f0a4be5a0d5b1c7d4a9f1',
      stream: true,
      stream_options: { include_usage: true },
      messages: [user],
    },
  },
  {
    from: 'Aider, by litellm',
    headers: { 'user-agent': 'OpenAI/Python 2.54.0' },
    body: {
      model,
      temperature: 0,
      stream: true,
      extra_body: {},
      messages: [
        system,
        { role: 'user', content: 'I am not sharing any files that you can edit yet.' },
        { role: 'assistant', content: 'Ok.' },
        user,
      ],
    },
  },
  {
    from: 'Continue, a chat',
    headers: { 'api-key': 'unused' },
    body: {
      model,
      max_tokens: 4096,
      stream: true,
      stream_options: { include_usage: true },
      messages: [system, { role: 'user', content: [{ type: 'text', text: user.content }] }],
    },
  },
];

const asked = { type: 'message', role: 'user', content: user.content };

/** Requests to POST /responses. */
export const responses: readonly RecordedJson[] = [
  {
    from: 'Home Assistant, OpenAI Conversation',
    headers: { 'x-stainless-lang': 'python' },
    body: {
      model,
      input: [{ type: 'message', role: 'developer', content: 'You are a voice assistant.' }, asked],
      max_output_tokens: 3000,
      top_p: 1,
      temperature: 1,
      user: '01JD6Z4Q4N6N5W1Y9B1RZK9V3C',
      store: false,
      stream: true,
      tools: [
        {
          type: 'function',
          name: 'HassTurnOn',
          description: 'Turns on a device.',
          parameters: { type: 'object', properties: { name: { type: 'string' } }, required: [] },
          strict: false,
        },
      ],
    },
  },
  {
    from: 'n8n, the chat model by its default',
    headers: { 'x-stainless-lang': 'js' },
    body: {
      model,
      input: [{ ...asked, content: [{ type: 'input_text', text: user.content }] }],
      temperature: 0.7,
      stream: false,
      store: false,
    },
  },
];

const input = 'Good morning.';

export const speeches: readonly RecordedJson[] = [
  { from: 'Open WebUI', body: { model: 'tts-1', input, voice: 'alloy' } },
  {
    from: 'Home Assistant, OpenAI text to speech',
    headers: { accept: 'application/octet-stream' },
    body: {
      model: 'gpt-4o-mini-tts',
      voice: 'marin',
      input,
      instructions: 'None',
      speed: 1,
      response_format: 'mp3',
    },
  },
  {
    from: 'n8n, generate audio',
    body: { model: 'tts-1-hd', input, voice: 'onyx', response_format: 'mp3', speed: 1 },
  },
  { from: 'LibreChat', body: { input, model: 'tts-1', voice: 'nova' } },
];

export const transcriptions: readonly RecordedForm[] = [
  {
    from: 'Open WebUI',
    headers: { 'x-openwebui-user-role': 'user' },
    fileName: '0d7e4f0a-7a0c-4c5f-9d8e-2f1f6b1c9c11.wav',
    fields: [
      ['model', 'whisper-1'],
      ['language', 'en'],
    ],
  },
  {
    from: 'Home Assistant, OpenAI speech to text',
    fileName: 'a.wav',
    fields: [
      ['model', 'gpt-4o-mini-transcribe'],
      ['language', 'en'],
      ['prompt', 'Names of rooms and devices.'],
      ['response_format', 'json'],
    ],
  },
  {
    from: 'n8n, transcribe a recording',
    fileName: 'data.wav',
    fields: [
      ['model', 'whisper-1'],
      ['temperature', '0.2'],
    ],
  },
  { from: 'LibreChat', fileName: 'audio.wav', fields: [['model', 'whisper-1']] },
];
