import { group, oneOf, wholeNumber } from './setting-types.ts';
import { apiKeySettings, httpUrl } from './upstream-engine.ts';

export const guard = group({
  url: httpUrl.describe('Its URL, such as http://127.0.0.1:9000/check. Each chat is posted to it as JSON.'),
  ...apiKeySettings,
  totalMs: wholeNumber(10, 60_000).default(2_000).describe('How long a check may take, in milliseconds.'),
  failure: oneOf(['closed', 'open'])
    .default('closed')
    .describe(
      'What happens if the guard does not answer in time and as documented: a chat gets 503 guard_unavailable (closed), or runs (open).',
    ),
})
  .optional()
  .describe(
    "The operator's own program, which is asked before each chat and may refuse it with a reason. Default: none, nothing is called.",
  );
