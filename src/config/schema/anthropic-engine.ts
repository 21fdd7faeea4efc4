import * as z from 'zod';
import { openaiEngine } from './openai-engine.ts';
import { engineOf, group, text } from './setting-types.ts';
import { httpUrl } from './upstream-engine.ts';

/** Without the settings for speech, transcription and the name of the limit. */
const { transcriptionFormat, realtime, realtimeFormat, outputLimit, voices, voicesEveryMs, ...shared } =
  openaiEngine.shape;

export const anthropicEngine = group({
  ...shared,
  ...engineOf('anthropic'),
  baseUrl: httpUrl.describe('Its URL with the version, such as https://api.anthropic.com/v1.'),
  version: text(/^[\w-]{1,64}$/, 'a version')
    .default('2023-06-01')
    .describe('The version of the API, as the header `anthropic-version` of each request.'),
  betas: z
    .array(text(/^[\w.-]{1,100}$/, 'the name of a feature'), { error: 'a list of names' })
    .max(100, { error: 'at most 100 names' })
    .default([])
    .describe('Values of the header `anthropic-beta` that clients may send. Others are left out.'),
}).describe('Any server with the Messages API, for chat. Times (…Ms) are in milliseconds.');
