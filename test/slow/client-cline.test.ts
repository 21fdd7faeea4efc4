/** Cline's command line from npm, some 430 MB, as its page starts it, before upstreams with the manners of the usual servers. */
import { describeAgent, installAgent } from './clients/agent.ts';

describeAgent({
  name: 'cline',
  installed: await installAgent('cline', 'cline'),
  task: [
    ['run_commands', { commands: ['echo one >> steps.txt'] }],
    ['run_commands', { commands: ['echo two >> steps.txt'] }],
    ['run_commands', { commands: ['cat steps.txt'] }],
  ],
  keepsSignatures: false,
  // `--id` with a prompt wants a terminal.
  resumes: false,
  answer: { object: 'chat.completion', model: 'coder' },
});
