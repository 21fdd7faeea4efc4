/** Settings of all engines that call another server. */
import * as z from 'zod';
import { path, text } from './setting-types.ts';

const name = text(/\S/, 'a name');

export const modelNames = z
  .record(name, name, { error: 'a map of model ids to the names of that server' })
  .default({})
  .describe(
    'The names that it has for models, by the id in the catalog: {small: llama-3.2-3b-instruct}. Default: the id itself.',
  );

export const httpUrl = text(
  /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/,
  'a URL such as http://127.0.0.1:8000/v1, without user, query and fragment',
);

/** The configuration says where a key is, never the key itself. */
export const apiKeySettings = {
  apiKeyEnv: text(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of a variable')
    .optional()
    .describe('The environment variable that holds its API key. Default: no key.'),
  apiKeyFile: path('the path of a file')
    .optional()
    .describe('A file that holds its API key and nothing else. Default: no key.'),
};
