/** The configuration of a Parley before an upstream that is asked as fast as it can be. @param upstream its origin */
export function relaySettings(upstream: string): object {
  const engine = {
    kind: 'openai',
    baseUrl: `${upstream}/v1`,
    callsMax: 4_096,
    models: { bench: 'mock-model' },
  };
  const model = { id: 'bench', type: 'chat', engine: 'mock', price: { input: 1, output: 1 } };
  return { engines: { mock: engine }, models: [model] };
}
