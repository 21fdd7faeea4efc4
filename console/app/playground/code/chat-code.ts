/** A chat in the languages of the samples. */
import type { Sample } from '../as-code.tsx';
import type { ChatText } from '../chat/chat-run.ts';
import {
  baseUrl,
  goProgram,
  openAiPython,
  openAiTypeScript,
  pythonProgram,
  quoted,
  shellWord,
} from './quote.ts';

export interface ChatSample {
  readonly model: string;
  readonly messages: readonly ChatText[];
  /** Empty: left out, like `maxTokens`. */
  readonly temperature: string;
  readonly maxTokens: string;
}

export function chatCode(chat: ChatSample): Sample[] {
  return [
    { name: 'curl', code: curl(chat) },
    { name: 'TypeScript', code: typeScript(chat) },
    { name: 'Python', code: python(chat) },
    { name: 'gRPC in Go', code: go(chat) },
    { name: 'gRPC in Python', code: grpcPython(chat) },
  ];
}

/** The parameters as members of JSON. */
function members({ model, messages, temperature, maxTokens }: ChatSample) {
  return {
    model,
    messages,
    stream: true,
    ...(temperature !== '' && { temperature: Number(temperature) }),
    ...(maxTokens !== '' && { max_tokens: Number(maxTokens) }),
  };
}

function curl(chat: ChatSample): string {
  return [
    `curl -N ${baseUrl()}/chat/completions \\`,
    '  -H "Authorization: Bearer $PARLEY_API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d ${shellWord(JSON.stringify(members(chat), null, 2))}`,
  ].join('\n');
}

function typeScript(chat: ChatSample): string {
  return [
    ...openAiTypeScript(),
    `const stream = await client.chat.completions.create(${JSON.stringify(members(chat), null, 2)});`,
    'for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? "");',
  ].join('\n');
}

function python(chat: ChatSample): string {
  const { model, messages, temperature, maxTokens } = chat;
  return [
    ...openAiPython(),
    'stream = client.chat.completions.create(',
    `    model=${quoted(model)},`,
    '    messages=[',
    ...messages.map(
      ({ role, content }) => `        {"role": ${quoted(role)}, "content": ${quoted(content)}},`,
    ),
    '    ],',
    ...(temperature === '' ? [] : [`    temperature=${temperature},`]),
    ...(maxTokens === '' ? [] : [`    max_tokens=${maxTokens},`]),
    '    stream=True,',
    ')',
    'for chunk in stream:',
    '    if chunk.choices:',
    '        print(chunk.choices[0].delta.content or "", end="", flush=True)',
  ].join('\n');
}

function go({ model, messages, temperature, maxTokens }: ChatSample): string {
  return goProgram(
    'chat',
    ['fmt', 'io'],
    [
      `model := ${quoted(model)}`,
      'text := func(role, content string) *chatv1.ChatMessage {',
      '\tvalue := &chatv1.MessageContent_Text{Text: content}',
      '\treturn &chatv1.ChatMessage{Role: &role, Content: &chatv1.MessageContent{Value: value}}',
      '}',
      'params := &chatv1.ChatCompletionParams{',
      '\tModel: &model,',
      '\tMessages: []*chatv1.ChatMessage{',
      ...messages.map(({ role, content }) => `\t\ttext(${quoted(role)}, ${quoted(content)}),`),
      '\t},',
      '}',
      ...(temperature === ''
        ? []
        : [`temperature := float64(${temperature})`, 'params.Temperature = &temperature']),
      ...(maxTokens === '' ? [] : [`maxTokens := float64(${maxTokens})`, 'params.MaxTokens = &maxTokens']),
      'request := &chatv1.StreamChatCompletionRequest{Params: params}',
      'stream, err := chatv1.NewChatServiceClient(conn).StreamChatCompletion(ctx, request)',
      'check(err)',
      'for {',
      '\tpart, err := stream.Recv()',
      '\tif err == io.EOF {',
      '\t\treturn',
      '\t}',
      '\tcheck(err)',
      '\tfor _, choice := range part.Chunk.Choices {',
      '\t\tfmt.Print(choice.GetDelta().GetContent())',
      '\t}',
      '}',
    ],
  );
}

function grpcPython({ model, messages, temperature, maxTokens }: ChatSample): string {
  return pythonProgram('chat', 'chat', [
    'def text(role, content):',
    '    return chat_pb2.ChatMessage(role=role, content=chat_pb2.MessageContent(text=content))',
    '',
    'params = chat_pb2.ChatCompletionParams(',
    `    model=${quoted(model)},`,
    `    messages=[${messages.map(({ role, content }) => `text(${quoted(role)}, ${quoted(content)})`).join(', ')}],`,
    ...(temperature === '' ? [] : [`    temperature=${temperature},`]),
    ...(maxTokens === '' ? [] : [`    max_tokens=${maxTokens},`]),
    ')',
    'chat = chat_service_pb2_grpc.ChatServiceStub(channel)',
    'for part in chat.StreamChatCompletion(chat_pb2.StreamChatCompletionRequest(params=params), metadata=key):',
    '    for choice in part.chunk.choices:',
    '        print(choice.delta.content, end="", flush=True)',
  ]);
}
