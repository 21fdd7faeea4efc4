import * as z from 'zod';
import { engineOf } from './engine-kind.ts';
import { openaiEngine } from './openai-engine.ts';
import { group, text } from './setting-types.ts';
import { httpUrl } from './upstream-engine.ts';

const { apiKeyEnv, apiKeyFile, models, headers, connectMs, firstByteMs, idleMs, totalMs, callsMax } =
  openaiEngine.shape;
const { callQueueMax, keepAliveMs, retriesMax, retryStatuses, breakerFailures, breakerOpenMs } =
  openaiEngine.shape;
const { eventCharactersMax, parameters } = openaiEngine.shape;

export const anthropicEngine = group({
  ...engineOf('anthropic'),
  baseUrl: httpUrl.describe('Its URL with the version, such as https://api.anthropic.com/v1.'),
  apiKeyEnv,
  apiKeyFile,
  version: text(/^[\w-]{1,64}$/, 'a version')
    .default('2023-06-01')
    .describe('The version of the API, as the header `anthropic-version` of each request.'),
  betas: z
    .array(text(/^[\w.-]{1,100}$/, 'the name of a feature'), { error: 'a list of names' })
    .max(100, { error: 'at most 100 names' })
    .default([])
    .describe('Values of the header `anthropic-beta` that clients may send. Others are left out.'),
  models,
  headers,
  connectMs,
  firstByteMs,
  idleMs,
  totalMs,
  callsMax,
  callQueueMax,
  keepAliveMs,
  retriesMax,
  retryStatuses,
  breakerFailures,
  breakerOpenMs,
  eventCharactersMax,
  parameters,
}).describe('Any server with the Messages API, for chat. Times (…Ms) are in milliseconds.');
