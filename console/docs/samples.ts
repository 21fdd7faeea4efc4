/** The request in the form as programs and commands. Each reads the key from the environment. */
import { speechCode, transcriptionCode } from '../shared/code/audio-code.ts';
import { chatCode } from '../shared/code/chat-code.ts';
import { quoted, shellWord } from '../shared/code/quote.ts';
import type { Sample } from '../shared/code/sample.ts';
import type { Operation } from './document.ts';
import { pythonLiteral } from './python-literal.ts';
import { type Draft, jsonType, type Prepared, prepare } from './try-request.ts';

type Members = Readonly<Record<string, unknown>>;

/** The operations with samples of their own, because an SDK has a function for them. */
const own: Readonly<Record<string, (body: Members) => readonly Sample[]>> = {
  synthesizeSpeech: ({ model, input, voice, response_format }) =>
    speechCode({
      model: textOf(model),
      input: textOf(input),
      voice: textOf(voice, 'slt'),
      format: textOf(response_format, 'mp3'),
    }),
  createTranscription: () => transcriptionCode({ model: 'any', file: 'speech.mp3' }),
  createChatCompletion: ({ model, messages }) =>
    chatCode({ model: textOf(model), messages: chatTexts(messages), temperature: '', maxTokens: '' }),
};

export function samplesOf(operation: Operation, draft: Draft): readonly Sample[] {
  // The key is never part of a sample.
  const prepared = prepare(operation, draft, '');
  const body = membersOf(draft.json) ?? membersOf(exampleOf(operation)) ?? {};
  const curl = { name: 'curl', code: curlOf(operation, prepared) };
  const special = own[operation.operationId];
  if (special !== undefined) return [curl, ...special(body).filter(({ name }) => name !== 'curl')];
  const isBodySent = prepared.body !== undefined;
  const sent: Sent = { operation, prepared, ...(isBodySent && { body }) };
  const grpc = operation['x-grpc'];
  return [
    curl,
    { name: 'TypeScript', code: typeScript(sent) },
    { name: 'Python', code: python(sent) },
    ...(grpc === undefined ? [] : [{ name: 'gRPC', code: bufCurl(grpc) }]),
  ];
}

interface Sent {
  readonly operation: Operation;
  readonly prepared: Prepared;
  readonly body?: Members;
}

function curlOf(operation: Operation, { method, path, headers, body }: Prepared): string {
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}${shellWord(location.origin + path)}`];
  if (operation.key !== undefined) lines.push('-H "Authorization: Bearer $PARLEY_API_KEY"');
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${shellWord(`${name}: ${value}`)}`);
  if (typeof body === 'string') lines.push(`-d ${shellWord(body)}`);
  if (body instanceof FormData) {
    const parts = [...body].map(([name, value]) =>
      shellWord(`${name}=${typeof value === 'string' ? value : `@${value.name}`}`),
    );
    lines.push(...(parts.length === 0 ? ['-F file=@speech.mp3'] : parts.map((part) => `-F ${part}`)));
  }
  if (answerTypes(operation).some((type) => type.startsWith('audio/'))) lines.push('-o speech.mp3');
  return lines.join(' \\\n  ');
}

function typeScript({ operation, prepared: { method, path, headers }, body }: Sent): string {
  const all = [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a part of the sample.
    ...(operation.key === undefined ? [] : ['authorization: `Bearer ${process.env.PARLEY_API_KEY}`']),
    ...Object.entries(headers).map(([name, value]) => `${quoted(name)}: ${quoted(value)}`),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`  method: ${quoted(method)},`]),
    ...(all.length === 0 ? [] : [`  headers: { ${all.join(', ')} },`]),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indented(JSON.stringify(body, null, 2))}),`]),
  ];
  const address = quoted(location.origin + path);
  return [
    options.length === 0
      ? `const response = await fetch(${address});`
      : [`const response = await fetch(${address}, {`, ...options, '});'].join('\n'),
    `console.log(await response.${isJson(operation) ? 'json' : 'text'}());`,
  ].join('\n');
}

function python({ operation, prepared: { method, path, headers }, body }: Sent): string {
  const key = operation.key !== undefined;
  const all = [
    ...(key ? ['"authorization": "Bearer " + os.environ["PARLEY_API_KEY"]'] : []),
    ...Object.entries(headers).map(([name, value]) => `${quoted(name)}: ${quoted(value)}`),
  ];
  const parameters = [
    quoted(location.origin + path),
    ...(method === 'GET' ? [] : [`method=${quoted(method)}`]),
    ...(all.length === 0 ? [] : [`headers={${all.join(', ')}}`]),
    ...(body === undefined ? [] : [`data=json.dumps(${indented(pythonLiteral(body))}).encode()`]),
  ];
  const read = isJson(operation) ? 'json.load(response)' : 'response.read().decode()';
  const isJsonUsed = body !== undefined || isJson(operation);
  return [
    ...(isJsonUsed ? ['import json'] : []),
    ...(key ? ['import os'] : []),
    'from urllib.request import Request, urlopen',
    '',
    'request = Request(',
    ...parameters.map((one) => `    ${one},`),
    ')',
    'with urlopen(request) as response:',
    `    print(${read})`,
  ].join('\n');
}

function bufCurl({ rpc, request }: NonNullable<Operation['x-grpc']>): string {
  const plain = location.protocol === 'https:' ? '' : ' --http2-prior-knowledge';
  return [
    `npx @bufbuild/buf curl --protocol grpc${plain}`,
    '-H "Authorization: Bearer $PARLEY_API_KEY"',
    ...(request === undefined ? [] : [`-d ${shellWord(JSON.stringify(request))}`]),
    `${location.origin}/${rpc}`,
  ].join(' \\\n  ');
}

function answerTypes({ responses }: Operation): readonly string[] {
  return Object.keys(responses['200']?.content ?? {});
}

function isJson(operation: Operation): boolean {
  return answerTypes(operation).includes(jsonType);
}

function exampleOf({ requestBody }: Operation): string {
  return JSON.stringify(requestBody?.content[jsonType]?.example ?? {});
}

/** Undefined if the text is not a JSON object. */
function membersOf(json: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function textOf(value: unknown, otherwise = ''): string {
  return typeof value === 'string' ? value : otherwise;
}

function chatTexts(messages: unknown): { role: string; content: string }[] {
  if (!Array.isArray(messages)) return [];
  return messages.flatMap((one: unknown) => {
    const { role, content } = membersOf(JSON.stringify(one)) ?? {};
    return typeof role === 'string' && typeof content === 'string' ? [{ role, content }] : [];
  });
}

/** Lines after the first are inside a call. */
function indented(text: string): string {
  return text.replaceAll('\n', '\n  ');
}
