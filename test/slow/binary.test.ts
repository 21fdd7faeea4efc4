/** The one executable: its content, that it needs nothing else, and that it passes unchanged tests of the program. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chownSync,
  copyFileSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isMoonshineFetched } from '../../scripts/setup/moonshine.mjs';
import { buildExecutable, buildMsMax, builtExecutable } from '../support/built-executable.ts';
import { ended, scratchFolder, until } from '../support/command-line.ts';
import { notNow } from '../support/tier.ts';
import { type CleanRoot, cleanRoot, noCleanRoot } from './binary/clean-root.ts';
import { runTestsWith } from './binary/program-tests.ts';

const megabyte = 1e6;
const diskBytesMax = 175 * megabyte;
const downloadBytesMax = 92 * megabyte;
const formats = ['mp3', 'opus', 'flac', 'wav', 'pcm'] as const;

/**
 * Tests of the parts that an executable has in another form than dist/: its configuration's schema, signals, modules of
 * WebAssembly, pages, SQLite's native code, schemas for reflection, and itself as the program that it starts.
 */
const testsOfTheProgram = [
  ...['cli/config', 'cli/serve', 'cli/transcribe', 'transports/rest/speech'],
  ...['transports/rpc/reflection-and-health', 'store/migrations/upgrade'],
  ...['engines/process/page', 'supervisor/killed-parley'],
];

const folder = scratchFolder();
const executable = folder.file('parley');
afterAll(() => folder.remove());

function run(args: readonly string[], env: NodeJS.ProcessEnv = { PATH: process.env['PATH'] }) {
  return ended(spawn(executable, args, { cwd: folder.path, env }));
}

async function digest(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** Compressed as for publication: by Zstandard, at a level that takes seconds. */
async function downloadBytes(file: string): Promise<number> {
  let bytes = 0;
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 9 } });
  compress.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  await pipeline(createReadStream(file), compress);
  return bytes;
}

/** Seconds of sound in a file, measured by ffmpeg's decoder. */
function secondsOf(file: string, format: (typeof formats)[number]): number {
  const raw = ['-f', 's16le', '-ar', '8000', '-ac', '1'];
  const source = format === 'pcm' ? ['-f', 's16le', '-ar', '24000', '-ac', '1'] : [];
  const { stdout } = spawnSync('ffmpeg', ['-v', 'error', ...source, '-i', file, ...raw, '-'], {
    maxBuffer: 1e9,
  });
  return stdout.length / 2 / 8000;
}

/** How ffmpeg packs a sound into each of the formats. */
const packing: Readonly<Record<string, readonly string[]>> = {
  'packed.flac': [],
  'packed.m4a': [],
  'packed.mp3': [],
  'packed.mp4': [],
  'packed.mpeg': ['-f', 'mpeg'],
  'packed.mpga': ['-f', 'mp3'],
  'packed.oga': ['-c:a', 'libopus', '-f', 'ogg'],
  'packed.ogg': [],
  'packed.wav': [],
  'packed.webm': ['-c:a', 'libopus'],
};

function packSound(from: string, args: readonly string[], to: string): void {
  const { status, stderr } = spawnSync('ffmpeg', ['-v', 'error', '-i', from, ...args, to]);
  if (status !== 0) throw new Error(`ffmpeg failed: ${stderr}`);
}

/** All files of a root folder except those of the system. */
function filesIn(root: string): string[] {
  return ['data', 'tmp'].flatMap((name) =>
    readdirSync(join(root, name), { recursive: true, encoding: 'utf8' }).map((file) => join(name, file)),
  );
}

beforeAll(async () => copyFileSync(await builtExecutable(), executable), buildMsMax);

describe('the executable', () => {
  it('prints its version, the commit and the schema', async () => {
    const { stdout } = await run(['--version']);
    expect(stdout).toMatch(
      /^\d+\.\d+\.\d+\ncommit (unknown|[0-9a-f]{40}(-dirty)?)\nschema \d+ \(\d{4}-[a-z-]+\)\n$/,
    );
  });

  it('is no larger than allowed, on the disk and as a download', async () => {
    expect(statSync(executable).size).toBeLessThan(diskBytesMax);
    expect(await downloadBytes(executable)).toBeLessThan(downloadBytesMax);
  });

  it('is identical when it is built again', { timeout: buildMsMax }, async ({ skip }) => {
    skip(notNow !== undefined, notNow);
    const again = folder.file('again');
    await buildExecutable(again);
    expect(await digest(again)).toBe(await digest(executable));
  });

  it('shows the licences of its parts, including Node', async () => {
    const { stdout } = await run(['notices']);
    const [inside, outside] = isMoonshineFetched()
      ? ['onnxruntime-web', '- pocketsphinx_']
      : ['- pocketsphinx_', 'onnxruntime-web'];
    for (const name of ['better-sqlite3', inside, 'apt-get source', 'GNU LESSER', 'Node.js v'])
      expect(stdout).toContain(name);
    expect(stdout).not.toContain(outside);
  });

  it('uses nothing from a node_modules in the same folder', async () => {
    mkdirSync(folder.file('node_modules/kysely'), { recursive: true });
    writeFileSync(folder.file('node_modules/kysely/index.js'), 'throw new Error("taken from outside")');
    const made = await run(['account', 'create', 'a', '--data-dir', folder.file('plain')]);
    expect(made).toMatchObject({ code: 0 });
  });
});

describe("SQLite's code", () => {
  const open = (dataDir: string, env?: NodeJS.ProcessEnv) =>
    run(['key', 'create', '--admin', '--data-dir', dataDir], env);
  const codeIn = (dataDir: string) =>
    readdirSync(join(dataDir, 'native')).map((name) => join(dataDir, 'native', name));

  it('is in the data folder, for its owner only', async () => {
    const dataDir = folder.file('owned');
    expect(await open(dataDir)).toMatchObject({ code: 0 });
    const [file = '', ...others] = codeIn(dataDir);
    expect(others).toEqual([]);
    expect(statSync(join(dataDir, 'native')).mode & 0o777).toBe(0o700);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('is written again if it was changed, and code of other versions is removed', async () => {
    const dataDir = folder.file('changed');
    await open(dataDir);
    const [file = ''] = codeIn(dataDir);
    const before = await digest(file);
    writeFileSync(file, 'no code');
    writeFileSync(join(dataDir, 'native', 'better-sqlite3-older.node'), 'older');
    expect(await open(dataDir)).toMatchObject({ code: 0 });
    expect(codeIn(dataDir)).toEqual([file]);
    expect(await digest(file)).toBe(before);
  });

  it.skipIf(process.geteuid?.() !== 0)('is not loaded from the data folder of another user', async () => {
    const dataDir = folder.file('theirs');
    mkdirSync(dataDir);
    chownSync(dataDir, 65_534, 65_534);
    expect(await open(dataDir)).toMatchObject({ code: 0 });
    expect(existsSync(join(dataDir, 'native'))).toBe(false);
  });

  it('goes through a temporary folder, which is deleted at once, if the data folder cannot have it', async () => {
    const dataDir = folder.file('blocked');
    const temporary = folder.file('temporary');
    mkdirSync(dataDir, { mode: 0o700 });
    mkdirSync(temporary);
    writeFileSync(join(dataDir, 'native'), 'a file is in the way');
    const env = { PATH: process.env['PATH'], TMPDIR: temporary };
    expect(await open(dataDir, env)).toMatchObject({ code: 0 });
    expect(readdirSync(temporary)).toEqual([]);
    const nowhere = await open(dataDir, { ...env, TMPDIR: '/nowhere' });
    expect(nowhere.code).toBe(1);
    expect(nowhere.stderr).toMatch(/Set TMPDIR to a folder that this user can write to/);
  });
});

describe.skipIf(noCleanRoot !== undefined)(
  `with libc and nothing else, and no network${noCleanRoot === undefined ? '' : `: ${noCleanRoot}`}`,
  () => {
    let root: CleanRoot;
    let server: ReturnType<CleanRoot['start']>;
    let [shown, log] = ['', ''];
    beforeAll(async () => {
      root = await cleanRoot(executable);
      server = root.start('serve', '--demo', '--data-dir', '/data', '--port', '8080');
      server.stdout?.on('data', (chunk: Buffer) => {
        shown += chunk;
      });
      server.stderr?.on('data', (chunk: Buffer) => {
        log += chunk;
      });
      await until(() => log.includes('listening on '));
    });
    afterAll(async () => {
      server.kill('SIGKILL');
      await root.remove();
    });

    const parley = (...args: string[]) => ended(root.start(...args, '--data-dir', '/data'));

    it('serves, with nothing missing', () => {
      expect(shown).toContain('Parley is ready at http://127.0.0.1:8080/api/v1');
      expect(log).not.toMatch(/"level":(40|50)/);
    });

    it.each(formats)('speaks %s, to its end', async (format) => {
      const text = 'Good morning. This is the voice of your own server, and it is ready to work.';
      const { code, stderr } = await parley('speak', text, '--format', format, '-o', `/tmp/x.${format}`);
      expect([code, stderr]).toEqual([0, expect.stringContaining('bytes in')]);
      const seconds = secondsOf(join(root.path, 'tmp', `x.${format}`), format);
      expect(seconds).toBeGreaterThan(4);
      expect(seconds).toBeLessThan(7);
    });

    it('chats, and counts the billed tokens', async () => {
      expect(await parley('chat', 'Hello there.')).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/\w/),
      });
      const { stdout } = await parley('usage', '--json');
      expect(stdout).toMatch(/"prompt_tokens": "?[1-9]/);
    });

    it('is administered', async () => {
      expect(await parley('account', 'create', 'edge')).toMatchObject({ code: 0 });
      expect(await parley('credits', 'load', 'edge', '5', '--reason', 'test')).toMatchObject({ code: 0 });
      expect((await parley('key', 'create', '--account', 'edge')).stdout).toMatch(/^pk_/);
      expect((await parley('account', 'list')).stdout).toMatch(/^edge /m);
    });

    it('is backed up while it runs', async () => {
      expect(await parley('backup', '/tmp/backup.db')).toMatchObject({ code: 0 });
      expect(statSync(join(root.path, 'tmp', 'backup.db')).size).toBeGreaterThan(0);
    });

    it('transcribes all ten formats, and writes nothing to the disk', async () => {
      const said = 'The weather is fine today, and everybody is going to the park.';
      expect(await parley('speak', said, '--format', 'wav', '-o', '/tmp/said.wav')).toMatchObject({
        code: 0,
      });
      const before = filesIn(root.path);
      for (const [name, args] of Object.entries(packing)) {
        packSound(join(root.path, 'tmp/said.wav'), args, join(root.path, 'tmp', name));
        const { stdout } = await parley('transcribe', `/tmp/${name}`);
        expect([name, stdout]).toEqual([name, expect.stringMatching(/weather.* fine .*park/)]);
      }
      const written = filesIn(root.path).filter((file) => !before.includes(file));
      expect(written.filter((file) => !file.startsWith('tmp/packed.') && !/\.db(-\w+)?$/.test(file))).toEqual(
        [],
      );
    });

    it('hears with Moonshine, with capitals and full stops', async ({ skip }) => {
      skip(!isMoonshineFetched(), 'it is built with pocketsphinx, as Moonshine could not be fetched');
      const { stdout } = await parley('transcribe', '/tmp/said.wav');
      expect(stdout).toMatch(/^[A-Z].* weather is fine today,? and everybody is going to the park\.\n$/);
    });

    it('names its recogniser', async () => {
      const { stdout } = await parley('models', '--type', 'transcription');
      expect(stdout).toMatch(isMoonshineFetched() ? /^moonshine-tiny-en /m : /^pocketsphinx /m);
    });

    it('finds no problem in doctor', async () => {
      const { stdout } = await parley('doctor');
      expect(stdout).not.toMatch(/^problem/m);
      expect(stdout).toMatch(
        isMoonshineFetched() ? /ok +hearing: .*: Moonshine\./ : /ok +hearing: .*: pocketsphinx\./,
      );
      expect(stdout).toMatch(/ok +integrity/);
      expect(stdout).toMatch(/ok +open files: The running server can open/);
    });

    it('checks everything without /proc too', async () => {
      // Seen from outside of its mounts, the root has an empty /proc.
      const args = [root.path, '/parley', 'doctor', '--data-dir', '/data'];
      const { stdout } = await ended(spawn('chroot', args));
      expect(stdout).not.toContain('The check itself failed');
      expect(stdout).toMatch(/(ok|warning) +open files: A process started here can open/);
    });

    it('stops with 0', async () => {
      const end = new Promise((resolve) => server.once('exit', (code, signal) => resolve([code, signal])));
      server.kill('SIGTERM');
      expect(await end).toEqual([0, null]);
    });
  },
);

describe.skipIf(noCleanRoot !== undefined)('with its transcription model on another machine', () => {
  it('transcribes there, as a remote engine', async () => {
    const edge = {
      engines: {
        builtin: { kind: 'builtin' },
        gateway: { kind: 'remote', baseUrl: 'http://127.0.0.1:8080/api/v1', apiKeyFile: 'gateway.key' },
      },
      models: [
        { id: 'flite', type: 'speech', engine: 'builtin' },
        { id: 'pocketsphinx', type: 'transcription', engine: 'gateway' },
      ],
    };
    writeFileSync(folder.file('edge.yaml'), JSON.stringify(edge));
    const script = `
      set -e
      ip link set lo up
      "$0" serve --demo --data-dir gateway --port 8080 &
      gateway=$!
      until [ -e gateway/first-run.json ]; do sleep 0.1; done
      sed -n 's/.*"apiKey": "\\(.*\\)".*/\\1/p' gateway/first-run.json > gateway.key
      PATH=/nowhere "$0" serve --demo --config edge.yaml --data-dir edge --port 8081 &
      edge=$!
      until [ -e edge/first-run.json ]; do sleep 0.1; done
      "$0" speak 'Good morning. The weather is fine today.' --data-dir edge -o edge.wav
      "$0" transcribe edge.wav --data-dir edge
      kill $edge $gateway
      wait $edge
      wait $gateway`;
    const child = spawn('unshare', ['--net', 'sh', '-c', script, executable], { cwd: folder.path });
    const { code, stdout, stderr } = await ended(child);
    expect(stdout).toMatch(/^.*(morning|weather|fine|today).*$/m);
    expect(stderr).not.toContain('is not available');
    expect(code).toBe(0);
  });
});

describe('the tests of the program', () => {
  it('pass with the executable', { timeout: 600_000 }, async () => {
    expect(await runTestsWith(executable, testsOfTheProgram)).toEqual({ code: 0, failures: [] });
  });
});
