/** Settings of programs that cannot work are refused, or found by `parley doctor`. */
import { describe, expect, it } from 'vitest';
import { ConfigError, loadConfig } from '../../../src/config/config.ts';
import { processEngine } from '../../../src/config/schema/process-engine.ts';
import { diagnoseProcess } from '../../../src/engines/process/diagnostics.ts';
import { createProcessEngine } from '../../../src/engines/process/index.ts';
import { tinyEngine, tinyModel } from '../../support/tiny-program.ts';

function findings(engine: object, model: object = {}): string[] {
  const models = [{ ...tinyModel('tiny'), ...model }];
  const overrides = { engines: { tiny: engine }, models, realtime: [] };
  try {
    loadConfig({ env: {}, overrides } as Parameters<typeof loadConfig>[0]);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.findings.map(({ message }) => message);
  }
}

describe('the configuration', () => {
  it('takes a command with one place to listen, also in a variable', () => {
    expect(findings(tinyEngine())).toEqual([]);
    expect(findings({ ...tinyEngine(), command: ['serve'], env: { PORT: '{port}' } })).toEqual([]);
  });

  it.each([
    ['none', ['serve']],
    ['two', ['serve', '{socket}', '{port}']],
  ])('refuses a command with %s', (_, command) => {
    expect(findings({ ...tinyEngine(), command })).toEqual([
      expect.stringContaining('a command with either {socket} or {port}'),
    ]);
  });

  it('refuses the name of a local model', () => {
    expect(findings(tinyEngine(), { model: 'small' })).toEqual([
      '`model` is for engines of the kind `local`, and `tiny` has none.',
    ]);
  });

  it('refuses a speech model whose engine has no voices, as no program is started to ask for them', () => {
    const speech = { type: 'speech', price: undefined, contextTokens: undefined };
    expect(findings(tinyEngine(), speech)).toContainEqual(expect.stringContaining('needs `voices`'));
  });
});

it('does not start a program to ask for the voices of a speech model', async () => {
  let isStarted = false;
  const acquire = async () => {
    isStarted = true;
    throw new Error('it was started');
  };
  const nothing = () => undefined;
  const program = { socketPath: undefined, port: 1, acquire, unload: nothing, retire: nothing };
  const engine = createProcessEngine(
    { ...processEngine.parse(tinyEngine()), contextTokens: undefined, outputTokensMax: undefined },
    {
      name: 'tiny',
      log: { info: nothing, warn: nothing, error: nothing },
      program: {
        ...program,
        stop: async () => undefined,
        state: () => ({ state: 'stopped', waiting: 0, starts: 0, memoryBytes: 0 }),
      },
    },
  );
  expect(engine.speech?.('voice').availability()).toEqual({ available: true });
  await new Promise(setImmediate);
  expect(isStarted).toBe(false);
  await engine.close();
});

describe('parley doctor', () => {
  const settings = { command: ['node', '{socket}'], env: {}, memoryBytes: 1e9, voices: {} };
  const surroundings = { environment: { PATH: '/usr/bin:/bin' }, memoryBytesMax: 2e9 };
  const diagnosis = { name: 'tiny', apiKey: undefined, models: [], signal: AbortSignal.timeout(1e6) };
  const problems = (own: object) =>
    diagnoseProcess({ ...settings, ...own }, surroundings, diagnosis)
      .filter(({ state }) => state === 'problem')
      .map(({ subject }) => subject);

  it('finds nothing wrong with a program that can start', () => {
    expect(problems({ command: ['sh', '{socket}'] })).toEqual([]);
    expect(problems({ command: [process.execPath, '{socket}'] })).toEqual([]);
  });

  it('finds a command that does not exist, or is no program', () => {
    expect(problems({ command: ['no-such-program', '{socket}'] })).toEqual(['command']);
    expect(problems({ command: ['/etc/passwd', '{socket}'] })).toEqual(['command']);
  });

  it('finds a program that needs more memory than there is', () => {
    expect(problems({ command: ['sh', '{socket}'], memoryBytes: 3e9 })).toEqual(['memory']);
  });
});
