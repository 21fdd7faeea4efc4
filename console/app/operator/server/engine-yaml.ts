/** The lines of parley.yaml for an engine and its models. */

export interface NewModel {
  readonly name: string;
  readonly type: 'chat' | 'speech' | 'transcription';
  /** Credits per million tokens, as a decimal; chat only. */
  readonly input: string;
  readonly output: string;
}

export interface NewEngine {
  readonly name: string;
  readonly kind: 'openai' | 'remote';
  readonly url: string;
  readonly isEncrypted: boolean;
  readonly hasKey: boolean;
  readonly models: readonly NewModel[];
  /** Names of chat models whose context the server does not report. */
  readonly withoutContext: ReadonlySet<string>;
}

/** The environment variable that holds the engine's key. */
export const keyVariable = (name: string): string => `${name.toUpperCase().replaceAll('-', '_')}_API_KEY`;

export function engineYaml(engine: NewEngine): string {
  const { name, kind, url, isEncrypted, hasKey, models } = engine;
  return [
    'engines:',
    `  ${name}:`,
    `    kind: ${kind}`,
    `    ${kind === 'openai' ? 'baseUrl' : 'address'}: ${scalar(url)}`,
    ...(kind === 'remote' && isEncrypted ? ['    tls: true'] : []),
    ...(hasKey ? [`    apiKeyEnv: ${keyVariable(name)}`] : []),
    'models:',
    ...models.flatMap((model) => modelLines(model, engine)),
    '',
  ].join('\n');
}

function modelLines(
  { name, type, input, output }: NewModel,
  { name: engine, withoutContext }: NewEngine,
): readonly string[] {
  const lines = [`  - id: ${scalar(name)}`, `    type: ${type}`, `    engine: ${engine}`];
  if (type !== 'chat') return lines;
  const context = withoutContext.has(name)
    ? ['    contextTokens: 8192   # the server does not report it: write its own']
    : [];
  return [...lines, `    price: { input: ${input || 0}, output: ${output || 0} }`, ...context];
}

/** JSON strings are YAML. */
function scalar(text: string): string {
  return /^[A-Za-z][\w./:-]*[\w/]$/.test(text) && !/^(true|false|null|yes|no|on|off)$/i.test(text)
    ? text
    : JSON.stringify(text);
}
