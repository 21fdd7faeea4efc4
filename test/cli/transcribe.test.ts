import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { asked, startCalledServer } from '../support/called-server.ts';
import { noTerminal, parley, parleyAtTerminal, until } from '../support/command-line.ts';
import { fakeTranscription, withFakes } from '../support/fake-engines.ts';
import { startParley } from '../support/parley.ts';

const bytesMax = 4 * 1024 * 1024;

const called = await startCalledServer();

describe('parley transcribe', () => {
  const run = (...args: string[]) => parley(['transcribe', ...args], called.options);
  const recording = (name: string, text: string) => writeFileSync(called.folder.file(name), text);
  const read = (name: string) => readFileSync(called.folder.file(name), 'utf8');

  it('prints the transcript of a file and nothing else', async () => {
    recording('a.mp3', 'hello');
    expect(await run('a.mp3')).toMatchObject({ code: 0, stdout: 'hello\n', stderr: '' });
    expect((await run('a.mp3', '--language', 'en')).stdout).toBe('hello en\n');
  });

  it('prints several in the order of the arguments, and runs two at once', async () => {
    for (const [index, text] of ['400 a', '10 b', '10 c', '10 d'].entries()) recording(`${index}.wav`, text);
    const { code, stdout, stderr } = await run('0.wav', '1.wav', '2.wav', '3.wav');
    expect(code).toBe(0);
    expect(stdout).toBe(
      '==> 0.wav <==\n400 a\n\n==> 1.wav <==\n10 b\n\n==> 2.wav <==\n10 c\n\n==> 3.wav <==\n10 d\n\n',
    );
    expect(asked.most).toBe(2);
    const lines = stderr.trimEnd().split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/^1\/4 1\.wav: done in \d/);
  });

  it('goes on after a failure, lists the failures at the end and exits with 1', async () => {
    recording('good.mp3', 'good');
    recording('bad.mp3', 'broken');
    const { code, stdout, stderr } = await run('bad.mp3', 'gone.mp3', 'good.mp3');
    expect([code, stdout]).toEqual([1, '==> good.mp3 <==\ngood\n\n']);
    expect(stderr).toMatch(
      /\n2 of 3 files failed:\n {2}bad\.mp3: The file is empty .* \(invalid_file, request req_[0-9a-f]+\)\n {2}gone\.mp3: It cannot be read \(there is no such file or folder\)\. Check the name\.\n$/,
    );
  });

  it('refuses a file over 4 MB before sending, and says how to compress it', async () => {
    recording('long.wav', 'x'.repeat(bytesMax + 1));
    const { code, stderr } = await run('long.wav');
    expect(code).toBe(1);
    expect(stderr).toBe(
      "long.wav: It is over 4 MB. Compress it: ffmpeg -i 'long.wav' -vn -ac 1 -ar 16000 -b:a 32k 'long.small.mp3'\n",
    );
    expect(asked.recordings).toBe(0);
  });

  it('sends a file of exactly 4 MB', async () => {
    recording('edge.wav', 'x'.repeat(bytesMax));
    expect((await run('edge.wav')).code).toBe(0);
    expect(asked.recordings).toBe(1);
  });

  it.each([
    ['json', '.json', /^\{"text":"hello","usage":\{"type":"duration","seconds":2\}\}\n$/],
    ['verbose_json', '.json', /"segments":\[.*\],"usage":.*\}\n$/],
    ['srt', '.srt', /^1\n00:00:00,000 --> 00:00:01,500\nhello\n/],
    ['vtt', '.vtt', /^WEBVTT\n/],
    ['text', '.txt', /^hello\n$/],
  ])('writes %s, also to a file in a folder', async (format, extension, pattern) => {
    recording('b.mp3', 'hello');
    expect((await run('b.mp3', '--format', format)).stdout).toMatch(pattern);
    const { code, stdout } = await run('b.mp3', '--format', format, '--output-dir', 'out/put');
    expect([code, stdout]).toEqual([0, '']);
    expect(read(`out/put/b${extension}`)).toMatch(pattern);
  });

  it('refuses to write subtitles without times', async () => {
    recording('untimed.mp3', 'untimed');
    expect((await run('untimed.mp3')).stdout).toBe('untimed\n');
    const { code, stdout, stderr } = await run('untimed.mp3', '--format', 'srt');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      'untimed.mp3: The model gives no times, which srt needs. Choose --format text or json.\n',
    );
  });

  it('is refused times before the work by a model that is known to give none', async () => {
    const transcription = fakeTranscription({
      reportsTimes: false,
      transcribe: () => {
        throw new Error('the engine was asked');
      },
    });
    const server = await startParley({ engines: withFakes({ transcription }) });
    recording('untimed.mp3', 'untimed');
    const at = ['--base-url', server.baseUrl, '--api-key', server.apiKey];
    const messages: string[] = [];
    for (const wanted of [['--format', 'srt'], ['--format', 'vtt'], ['--words']]) {
      messages.push((await run('untimed.mp3', ...wanted, ...at)).stderr);
    }
    await server.close();
    expect(messages).toEqual([
      'untimed.mp3: The model gives no times, which srt needs. Choose --format text or json.\n',
      'untimed.mp3: The model gives no times, which vtt needs. Choose --format text or json.\n',
      'untimed.mp3: The model gives no times, which --words needs. Leave it out.\n',
    ]);
  });

  it('adds the times of each word with --words', async () => {
    recording('w.mp3', 'hello');
    expect(JSON.parse((await run('w.mp3', '--words')).stdout)).toMatchObject({
      words: [{ word: 'w.mp3', start: 0, end: 0.5 }],
      segments: [{ text: 'hello' }],
    });
  });

  it('prints transcripts and failures as one JSON document', async () => {
    recording('good.mp3', 'good');
    recording('bad.mp3', 'broken');
    const { code, stdout } = await run('good.mp3', 'bad.mp3', '--json');
    expect(code).toBe(1);
    const error = {
      message: expect.any(String),
      code: 'invalid_file',
      request_id: expect.stringMatching(/^req_/),
    };
    expect(JSON.parse(stdout)).toEqual({
      files: [
        { file: 'good.mp3', transcript: { text: 'good', usage: expect.anything() } },
        { file: 'bad.mp3', error },
      ],
    });
  });

  it('says that a folder cannot be created', async () => {
    recording('c.mp3', 'hello');
    const { code, stderr } = await run('c.mp3', '--output-dir', 'c.mp3/out');
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^The folder c\.mp3\/out cannot be created \(a part of its path is not a folder\)\. /,
    );
  });

  it.skipIf(noTerminal !== undefined)(
    `shows a progress bar for all files at a terminal, with the current file, the time and the time left${noTerminal ? ` (skipped: ${noTerminal})` : ''}`,
    async () => {
      for (const name of ['p', 'q', 'r']) recording(`${name}.mp3`, `300 ${name}`);
      const terminal = parleyAtTerminal(['transcribe', 'p.mp3', 'q.mp3', 'r.mp3'], called.options);
      expect(await terminal.ended).toBe(0);
      expect(terminal.shown()).toMatch(/░{24} 0\/3 {2}\d+\.\d\d s {2}p\.mp3/);
      expect(terminal.shown()).toMatch(/█{16}░{8} 2\/3 {2}\d+\.\d\d s, \d+\.\d\d s left {2}r\.mp3/);
      expect(terminal.shown()).toMatch(/==> r\.mp3 <==\r\n300 r\r\n/);
    },
  );

  it.skipIf(noTerminal !== undefined)(
    `shows the text of a single file at a terminal while the rest is recognised${noTerminal ? ` (skipped: ${noTerminal})` : ''}`,
    async () => {
      recording('long.mp3', 'held words');
      const terminal = parleyAtTerminal(['transcribe', 'long.mp3'], called.options);
      await until(() => terminal.shown().includes('long.mp3  1.50 s recognised: held words'));
      asked.release.resolve();
      expect(await terminal.ended).toBe(0);
      expect(terminal.shown().split('\u001b[K').at(-1)).toBe('');
      expect(terminal.shown()).toContain('\u001b[Kheld words\r\n');
      expect(terminal.shown()).not.toContain('░');
    },
  );
});
