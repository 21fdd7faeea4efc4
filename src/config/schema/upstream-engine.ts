/** Settings of all engines that call another server. */
import * as z from 'zod';
import { ownMembers } from '../../core/chat/output-limit.ts';
import {
  engineOf,
  group,
  list,
  map,
  oneOf,
  optional,
  path,
  text,
  wholeNumber,
  yesOrNo,
} from './setting-types.ts';

const name = text(/\S/, 'a name');

export const modelNames = map(name, name, 'a map of model ids to the names of that server');

export const httpUrl = text(
  /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/,
  'a URL such as http://127.0.0.1:8000/v1, without user, query and fragment',
);

/** The configuration says where a key is, never the key itself. */
export const apiKeySettings = {
  apiKeyEnv: optional(text(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of a variable')),
  apiKeyFile: optional(path('the path of a file')),
};

const day = 86_400_000;

/** Headers that belong to the connection or to the request itself. */
const ownHeaders =
  /^(connection|content-length|content-type|expect|keep-alive|te|trailer|transfer-encoding|upgrade)$/i;
const headerName = text(/^[A-Za-z0-9_-]+$/, 'the name of a header').refine((name) => !ownHeaders.test(name), {
  error: 'the name of a header other than those of the connection and the content',
});

const retryStatus = z.union([z.literal(429), z.literal(503)], { error: '429 or 503' });

const language = text(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/, 'a language tag such as en-US');

const memberName = text(/^\w{1,100}$/, 'the name of a member').refine((name) => !ownMembers.includes(name), {
  error: `the name of a member other than ${ownMembers.join(', ')}`,
});
const memberNames = list(memberName, 'a list of names', 100);

const parameters = group({
  drop: memberNames,
  allow: memberNames,
  set: map(memberName, z.unknown(), 'a map of members to their values'),
}).prefault({});

export const openaiEngine = group({
  ...engineOf('openai'),
  baseUrl: httpUrl,
  ...apiKeySettings,
  models: modelNames,
  headers: map(
    headerName,
    text(/^[\x20-\x7e]*$/, 'printable ASCII in quotes'),
    'a map of header names to values',
  ),
  connectMs: wholeNumber(10, day, 5_000),
  firstByteMs: wholeNumber(10, day, 60_000),
  idleMs: wholeNumber(10, day, 60_000),
  totalMs: wholeNumber(10, day, 600_000),
  callsMax: wholeNumber(1, 10_000, 128),
  callQueueMax: wholeNumber(0, 100_000, 256),
  keepAliveMs: wholeNumber(1, 3_600_000, 4_000),
  retriesMax: wholeNumber(0, 10, 2),
  retryStatuses: list(retryStatus, 'a list of 429 and 503'),
  breakerFailures: wholeNumber(1, 1_000, 5),
  breakerOpenMs: wholeNumber(100, 3_600_000, 10_000),
  transcriptionFormat: oneOf(['verbose_json', 'json', 'diarized_json'], 'verbose_json'),
  realtime: yesOrNo(false),
  realtimeFormat: oneOf(['pcm', 'pcmu', 'pcma'], 'pcm'),
  outputLimit: optional(oneOf(['max_tokens', 'max_completion_tokens', 'both'])),
  eventCharactersMax: wholeNumber(1_024, 1_073_741_824, 33_554_432),
  parameters,
  voices: map(name, language, 'a map of voices to their languages'),
  voicesEveryMs: wholeNumber(1_000, day, 300_000),
});

/** Without the settings for speech, transcription and the name of the limit. */
const { transcriptionFormat, realtime, realtimeFormat, outputLimit, voices, voicesEveryMs, ...shared } =
  openaiEngine.shape;

export const anthropicEngine = group({
  ...shared,
  ...engineOf('anthropic'),
  baseUrl: httpUrl,
  version: text(/^[\w-]{1,64}$/, 'a version', '2023-06-01'),
  betas: list(text(/^[\w.-]{1,100}$/, 'the name of a feature'), 'a list of names', 100),
});

const { shape } = openaiEngine;

/** Another Parley: an openai engine that passes on codes, and waits as long as the other server may work. */
export const remoteEngine = group({
  ...shape,
  ...engineOf('remote'),
  baseUrl: httpUrl,
  firstByteMs: shape.firstByteMs.removeDefault().default(600_000),
  callsMax: shape.callsMax.removeDefault().default(512),
  transcriptionFormat: shape.transcriptionFormat.removeDefault().optional(),
  repeatLostCalls: yesOrNo(true),
});
