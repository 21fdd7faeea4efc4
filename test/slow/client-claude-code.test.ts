/** Claude Code from npm, some 380 MB, as its page starts it, before upstreams with the manners of the usual servers. */
import { describeAgent, installAgent } from './clients/agent.ts';

describeAgent({
  name: 'claude-code',
  installed: await installAgent('claude-code', 'claude'),
  task: [
    ['Bash', { command: 'echo one >> steps.txt', description: 'Writes the first step' }],
    ['Bash', { command: 'echo two >> steps.txt', description: 'Writes the second step' }],
    ['Read', { file_path: 'steps.txt' }],
  ],
  answer: { type: 'message', model: 'coder' },
});
