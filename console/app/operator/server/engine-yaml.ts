/** The lines of parley.yaml for an engine and its models. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ConfigurationEditSchema } from '../../../../gen/parley/admin/v1/admin_pb.ts';

export const modelTypes = ['chat', 'speech', 'transcription'] as const;

export interface NewModel {
  /** The name that the server has for it. */
  readonly name: string;
  /** The id that clients send. Empty: the same name. */
  readonly id: string;
  readonly type: (typeof modelTypes)[number];
  /** Credits per million tokens, as decimals; chat only. Empty if not given. */
  readonly input: string;
  readonly output: string;
  readonly cachedInput: string;
  /** Tokens; chat only. Empty: as the server reports. */
  readonly context: string;
}

export const noModel: NewModel = {
  name: '',
  id: '',
  type: 'chat',
  input: '',
  output: '',
  cachedInput: '',
  context: '',
};

export interface NewEngine {
  readonly name: string;
  readonly kind: 'openai' | 'anthropic' | 'remote';
  readonly url: string;
  readonly hasKey: boolean;
  readonly models: readonly NewModel[];
}

/** The environment variable that holds the engine's key. */
export const keyVariable = (name: string): string => `${name.toUpperCase().replaceAll('-', '_')}_API_KEY`;

/** The entries of parley.yaml for an engine and its models. */
export function engineEdits(
  engine: NewEngine,
  apiKey: string,
): MessageInitShape<typeof ConfigurationEditSchema>[] {
  const { name, models } = engine;
  return [
    edit('engines', name, engineLines(engine), apiKey),
    ...models.map((model) => edit('models', idOf(model), modelLines(model, name))),
  ];
}

/** The same as lines to copy. */
export function engineYaml(engine: NewEngine): string {
  const { name, hasKey, models } = engine;
  const key = hasKey ? [`apiKeyEnv: ${keyVariable(name)}`] : [];
  return [
    'engines:',
    `  ${scalar(name)}:`,
    ...[...engineLines(engine), ...key].map((line) => `    ${line}`),
    'models:',
    ...models.flatMap((model) =>
      modelLines(model, name).map((line, at) => `${at === 0 ? '  - ' : '    '}${line}`),
    ),
    '',
  ].join('\n');
}

function edit(section: string, name: string, lines: readonly string[], apiKey = '') {
  const yaml = `${lines.join('\n')}\n`;
  return { section, name, yaml, mustBeNew: true, ...(apiKey !== '' && { apiKey }) };
}

const idOf = ({ id, name }: NewModel): string => id || name;

function engineLines({ kind, url, models }: NewEngine): readonly string[] {
  const renamed = models.filter((model) => idOf(model) !== model.name);
  return [
    `kind: ${kind}`,
    `baseUrl: ${scalar(url)}`,
    ...(renamed.length > 0 ? ['models:'] : []),
    ...renamed.map((model) => `  ${scalar(idOf(model))}: ${scalar(model.name)}`),
  ];
}

function modelLines(model: NewModel, engine: string): readonly string[] {
  const { type, input, output, cachedInput, context } = model;
  const lines = [`id: ${scalar(idOf(model))}`, `type: ${type}`, `engine: ${scalar(engine)}`];
  if (type !== 'chat') return lines;
  const prices = Object.entries({ input, output, cachedInput })
    .filter(([, price]) => price !== '')
    .map(([name, price]) => `${name}: ${number(price)}`);
  return [
    ...lines,
    ...(prices.length > 0 ? [`price: { ${prices.join(', ')} }`] : []),
    ...(context === '' ? [] : [`contextTokens: ${number(context)}`]),
  ];
}

/** The digits as they are. Parley refuses anything else. */
function number(text: string): string {
  return /^\d+(\.\d+)?$/.test(text) ? text : JSON.stringify(text);
}

/** JSON strings are YAML. */
function scalar(text: string): string {
  return /^[A-Za-z][\w./:-]*[\w/]$/.test(text) && !/^(true|false|null|yes|no|on|off)$/i.test(text)
    ? text
    : JSON.stringify(text);
}
