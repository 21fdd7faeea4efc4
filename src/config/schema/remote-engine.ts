import type * as z from 'zod';
import { openaiEngine } from './openai-engine.ts';
import { engineOf, group, yesOrNo } from './setting-types.ts';
import { httpUrl } from './upstream-engine.ts';

const { shape } = openaiEngine;

function withDefault(setting: z.ZodDefault<z.ZodInt>, value: number) {
  return setting.removeDefault().default(value).describe(String(setting.description));
}

/** Another Parley: an openai engine that passes on codes, and waits as long as the other server may work. */
export const remoteEngine = group({
  ...shape,
  ...engineOf('remote'),
  baseUrl: httpUrl.describe('The base URL of the other Parley, such as https://gateway.example.com/api/v1.'),
  firstByteMs: withDefault(shape.firstByteMs, 600_000),
  callsMax: withDefault(shape.callsMax, 512),
  transcriptionFormat: shape.transcriptionFormat
    .removeDefault()
    .optional()
    .describe(String(shape.transcriptionFormat.description)),
  repeatLostCalls: yesOrNo
    .default(true)
    .describe(
      'Whether a call whose connection is lost before the answer begins is made once more. The other Parley may charge its key for both; clients pay once.',
    ),
}).describe(
  'Another Parley, over the OpenAI API: it serves models that this one has not, or shares the work. Errors about the request of the client keep their codes. Times (…Ms) are in milliseconds.',
);
