import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { asked, type CalledServer, forget, startCalledServer } from '../support/called-server.ts';
import { ended, noTerminal, parley, parleyAtTerminal, startParley, until } from '../support/command-line.ts';

describe('parley chat', () => {
  let called: CalledServer;
  beforeAll(async () => {
    called = await startCalledServer();
  });
  afterAll(() => called.close());
  beforeEach(forget);

  const run = (...args: string[]) => parley(['chat', ...args], called.options);

  it('streams one answer to standard output', async () => {
    expect(await run('I am here.')).toEqual({
      ...{ code: 0, signal: null },
      stdout: '1: I am here.\n',
      stderr: '',
    });
  });

  it('takes several words for one message', async () => {
    expect((await run('I', 'am', '--model', 'eliza', 'here.')).stdout).toBe('1: I am here.\n');
  });

  it('sends a system message first, and to the model that is named', async () => {
    const { stdout } = await run('--model', 'eliza', '--system', 'Be kind.', 'Hello.');
    expect(stdout).toBe('2: Hello.\n');
    expect(asked.chats[0]?.messages[0]).toMatchObject({ role: 'system' });
    const unknown = await run('--model', 'nobody', 'Hello.');
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toMatch(
      / On the command line: `parley models`\. \(unknown_model, request req_[0-9a-f]+\)\n$/,
    );
  });

  it('prints the whole completion with --json', async () => {
    const { stdout } = await run('Hello.', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { content: 'Hello.' }, finish_reason: 'stop' }],
      usage: { total_tokens: 5 },
    });
  });

  it('says that an answer failed after it had begun, and ends with 1', async () => {
    const { code, stdout, stderr } = await run('This breaks.');
    expect([code, stdout]).toEqual([1, '1: This breaks.']);
    expect(stderr).toMatch(
      /^The engine behind this model failed\. Try again\. \(upstream_error, request req_\w+\)\n$/,
    );
  });

  it('does not take a stream without its end for an answer', async () => {
    const other = createServer((request, response) => {
      if (request.method === 'GET') response.end('{"object":"list","data":[{"id":"m","type":"chat"}]}');
      else response.end('data: {"choices":[{"delta":{"content":"Half"}}]}\r\n\r\n');
    }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { code, stdout, stderr } = await run('Hello.', '--base-url', `http://127.0.0.1:${port}`);
    other.close();
    expect([code, stdout, stderr]).toEqual([1, 'Half', 'The answer was cut short. Try again.\n']);
  });

  it('ends by Ctrl-C while an answer comes', async () => {
    const child = startParley(['chat', 'This stalls.'], called.options);
    const end = ended(child);
    await until(() => asked.chats.length > 0);
    child.kill('SIGINT');
    expect(await end).toMatchObject({ code: null, signal: 'SIGINT', stderr: '' });
  });

  it('is a conversation without a message: a line is one, and what was said before goes along', async () => {
    const input = 'First.\n\nSecond.\n/quit\nNever.\n';
    const { code, stdout, stderr } = await parley(['chat'], { ...called.options, input });
    expect([code, stdout, stderr]).toEqual([0, '1: First.\n3: Second.\n', '']);
    expect(asked.chats[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  });

  it('goes on after an answer that failed, without that message, and ends with 1', async () => {
    const input = 'I refuse.\nThen.\n';
    const { code, stdout, stderr } = await parley(['chat'], { ...called.options, input });
    expect([code, stdout]).toEqual([1, '1: Then.\n']);
    expect(stderr).toMatch(
      /^The engine behind this model failed\. .*\(upstream_error, request req_\w+\)\nOne answer failed\.\n$/,
    );
  });

  describe.skipIf(noTerminal !== undefined)(
    `at a terminal${noTerminal ? ` (skipped: ${noTerminal})` : ''}`,
    () => {
      it('ends the answer at the first Ctrl-C and the conversation at the next', async () => {
        const terminal = parleyAtTerminal(['chat'], called.options);
        const prompts = () => terminal.shown().split('> ').length - 1;
        await until(() => prompts() > 0);
        terminal.type('This stalls.\r');
        await until(() => terminal.shown().includes('1: This stalls.'));
        let before = prompts();
        terminal.type('\x03');
        await until(() => prompts() > before);
        terminal.type('Go on.\r');
        await until(() => terminal.shown().includes('3: Go on.'));
        before = terminal.shown().lastIndexOf('3: Go on.');
        await until(() => terminal.shown().indexOf('> ', before) > 0);
        terminal.type('\x03');
        expect(await terminal.ended).toBe(0);
      });

      it('ends at /quit', async () => {
        const terminal = parleyAtTerminal(['chat'], called.options);
        await until(() => terminal.shown().includes('> '));
        terminal.type('/quit\r');
        expect(await terminal.ended).toBe(0);
      });
    },
  );
});
