/** opencode from npm, some 350 MB, as its page starts it, before upstreams with the manners of the usual servers. */
import { describeAgent, installAgent } from './clients/agent.ts';

describeAgent({
  name: 'opencode',
  installed: await installAgent('opencode', 'opencode'),
  task: [
    ['bash', { command: 'echo one >> steps.txt', description: 'Writes the first step' }],
    ['bash', { command: 'echo two >> steps.txt', description: 'Writes the second step' }],
    ['bash', { command: 'cat steps.txt', description: 'Shows the steps' }],
  ],
  answer: { type: 'message', model: 'coder' },
});
