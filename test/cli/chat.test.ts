import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { ListModelsResponseSchema } from '../../gen/parley/catalog/v1/catalog_pb.ts';
import { StreamChatCompletionResponseSchema } from '../../gen/parley/chat/v1/chat_pb.ts';
import { asked, startCalledServer } from '../support/called-server.ts';
import { ended, noTerminal, parley, parleyAtTerminal, startParley, until } from '../support/command-line.ts';
import { startHttp } from '../support/http-server.ts';

const called = await startCalledServer();

describe('parley chat', () => {
  const run = (...args: string[]) => parley(['chat', ...args], called.options);

  it('streams one answer to standard output', async () => {
    expect(await run('I am here.')).toEqual({ code: 0, signal: null, stdout: '1: I am here.\n', stderr: '' });
  });

  it('joins several words to one message', async () => {
    expect((await run('I', 'am', '--model', 'eliza', 'here.')).stdout).toBe('1: I am here.\n');
  });

  it('sends a system message first, to the model that is named', async () => {
    const { stdout } = await run('--model', 'eliza', '--system', 'Be kind.', 'Hello.');
    expect(stdout).toBe('2: Hello.\n');
    expect(asked.chats[0]?.messages[0]).toMatchObject({ role: 'system' });
    const unknown = await run('--model', 'nobody', 'Hello.');
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toMatch(
      /^[^`]*`nobody`\. `parley models --type chat` lists those that your key can call\. \(unknown_model, request req_[0-9a-f]+\)\n$/,
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

  it('reports an answer that fails halfway, and exits with 1', async () => {
    const { code, stdout, stderr } = await run('This breaks.');
    expect([code, stdout]).toEqual([1, '1: This breaks.']);
    expect(stderr).toMatch(
      /^The engine behind this model failed\. Try again\. \(upstream_error, request req_\w+\)\n$/,
    );
  });

  it('reports a stream without an end as cut short', async () => {
    const half = create(StreamChatCompletionResponseSchema, {
      chunk: { choices: [{ delta: { content: 'Half' } }] },
    });
    const message = toBinary(StreamChatCompletionResponseSchema, half);
    const other = await startHttp((request, response) => {
      request.resume();
      if (request.url?.endsWith('/ListModels')) {
        const models = create(ListModelsResponseSchema, { data: [{ id: 'm', type: 'chat' }] });
        response.setHeader('content-type', 'application/proto');
        response.end(toBinary(ListModelsResponseSchema, models));
      } else {
        response.setHeader('content-type', 'application/connect+proto');
        response.end(Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]));
      }
    });
    const { code, stdout, stderr } = await run('Hello.', '--base-url', other.origin);
    await other.close();
    expect([code, stdout, stderr]).toEqual([1, 'Half', 'The answer was cut short. Try again.\n']);
  });

  it('ends by Ctrl-C during an answer', async () => {
    const child = startParley(['chat', 'This stalls.'], called.options);
    const end = ended(child);
    await until(() => asked.chats.length > 0);
    child.kill('SIGINT');
    expect(await end).toMatchObject({ code: null, signal: 'SIGINT', stderr: '' });
  });

  it('is a conversation without a message: each line is a message, sent with all earlier ones', async () => {
    const input = 'First.\n\n/help\nSecond.\n/quit\nNever.\n';
    const { code, stdout, stderr } = await parley(['chat'], { ...called.options, input });
    expect([code, stdout]).toEqual([0, '1: First.\n3: Second.\n']);
    expect(stderr).toMatch(/^\/quit or Ctrl-D ends .*\n$/);
    expect(asked.chats[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  });

  it('continues after a failed answer, without that message, and exits with 1', async () => {
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
