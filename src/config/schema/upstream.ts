/** What every kind of engine that calls another server has. */
import { z } from 'zod';
import { text, wholeNumber } from './setting.ts';

const name = text(/\S/, 'a name');

/** The names of models there, by their ids in the catalog here. */
export const modelNames = z
  .record(name, name, { error: 'a map of model ids to the names of that server' })
  .default({})
  .describe(
    'The names that it knows models by, for each id of the catalog that is another. Default: the same.',
  );

/** A key is never written in the configuration itself. */
export const secretSource = {
  apiKeyEnv: text(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of a variable')
    .optional()
    .describe('The variable of the environment that holds its API key. Default: none.'),
  apiKeyFile: text(/^[^\0]*\S[^\0]*$/, 'the path of a file')
    .optional()
    .describe('A file that holds its API key and nothing else. Default: none.'),
};

const time = (defaultMs: number, description: string) =>
  wholeNumber(10, 86_400_000).default(defaultMs).describe(`${description}, in milliseconds.`);

export const timeLimits = {
  connectMs: time(5_000, 'How long a connection may take'),
  firstByteMs: time(60_000, 'How long the first byte of an answer may take'),
  idleMs: time(60_000, 'How long an answer that has begun may pause'),
  totalMs: time(600_000, 'How long one request may take in all'),
};

export const voiceLanguages = z
  .record(name, text(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/, 'a language tag such as en-US'), {
    error: 'a map of voices to the languages that they speak',
  })
  .default({})
  .describe(
    'Its voices, each with the language that it speaks, such as `af_heart: en-US`. Default: those that it lists itself.',
  );
