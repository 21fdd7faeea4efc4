import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { asked, startCalledServer } from '../support/called-server.ts';
import {
  ended,
  noTerminal,
  parley,
  parleyAtTerminal,
  parleyBytes,
  startParley,
  until,
} from '../support/command-line.ts';

const called = await startCalledServer();

describe('parley speak', () => {
  const run = (...args: string[]) => parley(args, called.options);
  const read = (name: string) => readFileSync(called.folder.file(name), 'utf8');
  const files = () => readdirSync(called.folder.path);

  it('writes a file in the format of its name, with size and times on standard error', async () => {
    const { code, stdout, stderr } = await run('speak', 'Hello.', '-o', 'hello.opus');
    expect([code, stdout, read('hello.opus')]).toEqual([0, '', 'one two three']);
    expect(asked.speech).toMatchObject([{ input: 'Hello.', format: 'opus', voice: 'one' }]);
    expect(stderr).toMatch(/^hello\.opus: 13 bytes in \d+\.\d\d s, the first after \d+\.\d\d s\n$/);
  });

  it('joins several words to one text, and says how to list the models', async () => {
    await run('speak', 'Good', 'morning.', '-o', 'words.opus');
    expect(asked.speech).toMatchObject([{ input: 'Good morning.' }]);
    const { code, stderr } = await run('speak', 'Hello.', '-o', 'no.opus', '--model', 'nobody');
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^[^`]*`nobody`\. `parley models --type speech` lists those that your key can call\. \(unknown_model, /,
    );
  });

  it('takes the text from standard input, and format, model and voice from flags', async () => {
    const args = ['speak', '-o', 'piped', '--format', 'wav', '--model', 'flite', '--voice', 'one'];
    for (const more of [[], ['-']]) {
      const { code } = await parley([...args, ...more], { ...called.options, input: 'From a pipe.\n' });
      expect(code).toBe(0);
    }
    const request = { input: 'From a pipe.', format: 'wav' };
    expect(asked.speech).toMatchObject([request, request]);
  });

  it('writes mp3 to standard output where no file is named', async () => {
    expect((await parleyBytes(['speak', 'Hello.'], called.options)).toString()).toBe('one two three');
    expect(asked.speech).toMatchObject([{ format: 'mp3' }]);
  });

  it('prints file, size and times as JSON', async () => {
    const { stdout } = await run('speak', 'Hello.', '-o', 'json.flac', '--json');
    expect(JSON.parse(stdout)).toEqual({
      file: 'json.flac',
      model: 'flite',
      format: 'flac',
      bytes: 13,
      first_byte_ms: expect.any(Number),
      duration_ms: expect.any(Number),
    });
  });

  it('leaves neither half a file nor a changed one if the answer breaks off', async () => {
    writeFileSync(called.folder.file('kept.mp3'), 'before');
    for (const file of ['kept.mp3', 'new.mp3']) {
      const { code, stderr } = await run('speak', 'This breaks.', '-o', file);
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^The engine behind this model failed\. .*\(upstream_error, request req_\w+\)\n$/,
      );
    }
    expect(read('kept.mp3')).toBe('before');
    expect(files().filter((name) => /new|part/.test(name))).toEqual([]);
  });

  it('leaves nothing behind after Ctrl-C, and ends by it', async () => {
    const child = startParley(['speak', 'This stalls.', '-o', 'stalled.mp3'], called.options);
    const end = ended(child);
    await until(() => files().some((name) => name.startsWith('.stalled.mp3.')));
    child.kill('SIGINT');
    expect(await end).toMatchObject({ code: null, signal: 'SIGINT', stderr: '' });
    expect(files().filter((name) => name.includes('stalled'))).toEqual([]);
  });

  it('writes into a device, and does not replace it', async () => {
    expect((await run('speak', 'Hello.', '-o', '/dev/null', '--format', 'mp3')).code).toBe(0);
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
  });

  it('says in one line why the server refuses, or why the file cannot be written', async () => {
    const refused = await run('speak', 'Hello.', '-o', 'x.mp3', '--voice', 'nobody');
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/^.*no such voice.* \(unknown_voice, request req_[0-9a-f]+\)\n$/);
    const nowhere = await run('speak', 'Hello.', '-o', 'no/where.mp3');
    expect(nowhere.code).toBe(1);
    expect(nowhere.stderr).toBe(
      'no/where.mp3 cannot be written (there is no such file or folder). Choose another place for it.\n',
    );
  });

  it('says that a key without plan or trial has no model to speak with', async () => {
    const key = await called.server.newKey();
    const { code, stderr } = await run('speak', 'Hello.', '-o', 'x.mp3', '--api-key', key);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^This key cannot call any model for speech\. .*\n$/);
  });

  describe.skipIf(noTerminal !== undefined)(
    `at a terminal${noTerminal ? ` (skipped: ${noTerminal})` : ''}`,
    () => {
      it('does not print audio', async () => {
        const terminal = parleyAtTerminal(['speak', 'Hello.'], called.options);
        expect(await terminal.ended).toBe(2);
        expect(terminal.shown()).toContain('audio cannot be written to a terminal: name a file with -o');
      });

      it('asks for a text instead of waiting for input', async () => {
        const terminal = parleyAtTerminal(['speak', '-o', 'x.mp3'], called.options);
        expect(await terminal.ended).toBe(2);
        expect(terminal.shown()).toContain('give the text as an argument, or pipe it in');
      });
    },
  );
});
