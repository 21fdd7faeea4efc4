/** parley.yaml with a local model added, and taken out again. */
import { expect, it } from 'vitest';
import { withModel, withoutModel } from '../../src/config/edited-file.ts';

const chat = { id: 'small', type: 'chat' } as const;
const ear = { id: 'ear', type: 'transcription' } as const;
const inside = 'moonshine-tiny-en';

const commented = `# my server
server: { port: 9000 } # the port

engines:
  builtin: { kind: builtin }
  # far away
  far:
    kind: openai
    baseUrl: "http://127.0.0.1:1/v1"
models:
  - { id: heard, type: transcription, engine: builtin } # hears
  # mine
  - id: two
    type: chat
    engine: far
    price: { input: 0.10, output: 1 }

# the end
log: { level: info }
`;

it('adds one line for the engine and one for the model, and takes the model out again', () => {
  const added = withModel(commented, chat, inside);
  expect(added.split('\n').filter((line) => !commented.includes(line))).toEqual([
    '  local: { kind: local }',
    '  - { id: small, type: chat, engine: local, price: { input: 0, output: 0 } }',
  ]);
  expect(commented.split('\n').filter((line) => !added.includes(line))).toEqual([]);
  expect(withModel(added, chat, inside)).toBe(added);
  const removed = withoutModel(added, 'small', inside);
  expect(removed).toBe(commented.replace('\nmodels:', '\n  local: { kind: local }\nmodels:'));
  expect(withoutModel(commented, 'two', inside)).toBe(commented);
});

it('has one transcription model, and the recogniser inside Parley again when that goes', () => {
  const added = withModel(commented, ear, inside);
  expect(added).toContain('  - { id: ear, type: transcription, engine: local }\n');
  expect(added).not.toContain('id: heard');
  const removed = withoutModel(added, 'ear', inside);
  expect(removed).toContain(`  - { id: ${inside}, type: transcription, engine: builtin }\n`);
  expect(removed).not.toContain('id: ear');
});

it('takes the place of a recogniser inside Parley of the same name', () => {
  const text = `models:\n  - { id: ${inside}, type: transcription, engine: builtin }\n`;
  const added = withModel(text, { id: inside, type: 'transcription' }, inside);
  expect(added).toContain(`models:\n  - { id: ${inside}, type: transcription, engine: local }\n`);
  expect(withoutModel(added, inside, inside)).toContain(text);
});

it('keeps the models of the default in a file that names none, and their conversation', () => {
  const added = withModel('# empty\n', ear, 'pocketsphinx');
  expect(added).toBe(`# empty

engines:
  builtin:
    kind: builtin
  local: {kind: local}
models:
  - {id: flite, type: speech, engine: builtin}
  - {id: eliza, type: chat, engine: builtin, price: {input: 0.1, output: 0.4}, contextTokens: 4096, outputTokensMax: 4096}
  - {id: ear, type: transcription, engine: local}
realtime:
  - {id: eliza-live, transcription: ear, chat: eliza, speech: flite}
`);
  expect(withoutModel(added, 'ear', 'pocketsphinx')).toContain('transcription: pocketsphinx, chat: eliza');
});

it('leaves a model for live sessions alone, and gives its conversations to the active one when it goes', () => {
  const live = '  - {id: live, type: transcription, engine: local, liveOnly: true}\n';
  const talk = 'realtime:\n  - {id: talk, transcription: live, chat: eliza, speech: flite}\n';
  const text = `engines:\n  builtin: {kind: builtin}\n  local: {kind: local}\nmodels:\n${live}  - {id: ${inside}, type: transcription, engine: builtin}\n${talk}`;
  const added = withModel(text, ear, inside);
  expect(added).toContain(live);
  expect(added).not.toContain(`id: ${inside}`);
  expect(added).toContain('transcription: live');
  const removed = withoutModel(added, 'live', inside);
  expect(removed).not.toContain('liveOnly');
  expect(removed).not.toContain(`id: ${inside}`);
  expect(removed).toContain('transcription: ear');
});

it('uses the engine of the kind local that is there', () => {
  const text = 'engines:\n  local: {kind: builtin}\n  own: {kind: local}\nmodels: []\n';
  expect(withModel(text, chat, inside)).toContain('engine: own');
  const taken = 'engines:\n  local: {kind: builtin}\nmodels: []\n';
  expect(withModel(taken, chat, inside)).toContain('  local-models: {kind: local}\n');
});
