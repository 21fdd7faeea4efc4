/** The official Connect conformance suite: its service on Parley's transports, over Connect, gRPC and gRPC-Web. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { shell } from '../clients/shell.ts';
import { installGo } from './clients/install-go.ts';
import { knownDifferences } from './connectconformance/known-differences.ts';

const project = new URL('../..', import.meta.url).pathname;
const casesInAll = 1_744;

/** The module of the suite contains its schemas. */
const schemas = `folder=$(go list -m -f '{{.Dir}}' "$(sed 's,/cmd/[^@]*,,' package.txt)")
'${project}/node_modules/.bin/buf' build "$folder/proto" -o suite.binpb`;
const installed = await installGo('connectconformance', schemas);
const missing = 'missing' in installed ? installed.missing : undefined;
const folder = 'folder' in installed ? installed.folder : '';

interface Failure {
  readonly name: string;
  readonly problem: string;
}

function failuresIn(report: string): Failure[] {
  return report
    .split(/^FAILED: /m)
    .slice(1)
    .map((block) => {
      const [name = '', ...problem] = block.split('\n');
      return { name: name.replace(/:$/, ''), problem: problem.join('\n').split('\n\nTotal cases')[0] ?? '' };
    });
}

/** How often a case is tried: on a busy machine the suite waits too short a time for its servers. */
const attempts = 3;

describe.skipIf(missing)(`the Connect conformance suite${missing ? ` (${missing})` : ''}`, () => {
  const server = join(project, 'test/slow/connectconformance');
  const scratch = mkdtempSync(join(tmpdir(), 'parley-conformance-'));
  afterAll(() => rmSync(scratch, { recursive: true }));

  /** @param cases names of cases; all if there are none */
  async function run(cases: readonly string[] = []) {
    const chosen = join(scratch, 'cases.txt');
    writeFileSync(chosen, cases.join('\n'));
    const { stdout } = await shell(
      `'${folder}/bin/connectconformance' --mode server --conf '${server}/config.yaml' --parallel 4 --max-servers 2 \
        ${cases.length > 0 ? `--run '@${chosen}'` : ''} -- \
        '${process.execPath}' '${server}/server.ts' '${folder}/suite.binpb'`,
      { timeoutMs: 180_000 },
    );
    return { total: Number(/Total cases: (\d+)/.exec(stdout)?.[1]), failures: failuresIn(stdout) };
  }

  it('passes except for the known differences', async () => {
    const { total, failures } = await run();
    expect(total).toBe(casesInAll);
    const known = failures.filter(isKnown);
    let unknown = failures.filter((failure) => !isKnown(failure));
    for (let attempt = 1; unknown.length > 0 && attempt < attempts; attempt++) {
      const again = (await run(unknown.map(({ name }) => name))).failures;
      known.push(...again.filter(isKnown));
      unknown = again.filter((failure) => !isKnown(failure));
    }
    process.stdout.write(`Connect conformance: ${total - known.length - unknown.length} of ${total}\n`);
    expect(unknown).toEqual([]);
    expect(knownDifferences.filter(({ cases }) => !known.some(({ name }) => cases.test(name)))).toEqual([]);
  });
});

function isKnown({ name, problem }: Failure): boolean {
  return knownDifferences.some((known) => known.cases.test(name) && known.problem.test(problem));
}
