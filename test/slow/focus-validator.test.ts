/** The validator of the FinOps Foundation from PyPI reads the export of costs. It knows FOCUS 1.0 alone. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shell } from '../clients/shell.ts';
import { printed } from '../support/command-line.ts';
import { startParley } from '../support/parley.ts';
import { installPython } from './clients/install-python.ts';

const installed = await installPython('focus-validator', 9);
const missing = 'missing' in installed ? installed.missing : undefined;

/** Columns of an earlier draft: FOCUS 1.0 and 1.2 name them ProviderName, PublisherName, InvoiceIssuerName and ResourceId. */
const draft = ['InvoiceIssuer_Required', 'Provider_Required', 'Publisher_Required', 'ResourceID_Required'];
/** It reads a column ChargeType, which no released version has. */
const broken = ['SkuPriceId_Nullable'];
/** In FOCUS 1.2 these columns are for providers with regions, sub-accounts, tags or discounts. */
const conditional = [
  ...['Category', 'Id', 'Name', 'Status', 'Type'].map((part) => `CommitmentDiscount${part}_Required`),
  ...['RegionId', 'RegionName', 'ResourceName', 'SubAccountId', 'SubAccountName', 'Tags'].map(
    (column) => `${column}_Required`,
  ),
];

describe.skipIf(missing !== undefined)(`focus-validator from PyPI ${missing ?? ''}`, () => {
  it('finds nothing but differences between FOCUS 1.0 and 1.2', async () => {
    if ('missing' in installed) throw new Error(installed.missing);
    const parley = await startParley();
    const chat = { model: 'eliza', messages: [{ role: 'user', content: 'Hello.' }] };
    await (await parley.postJson('/chat/completions', chat)).arrayBuffer();
    await (await parley.postJson('/audio/speech', { model: 'flite', input: 'Hello.' })).arrayBuffer();
    const price = ['--provider', 'Acme, Inc.', '--currency', 'EUR', '--credit-price', '0.9'];
    const boss = ['--base-url', parley.baseUrl, '--admin-key', parley.adminKey];
    const file = join(installed.folder, 'focus.csv');
    writeFileSync(file, await printed(['usage', 'focus', ...price, ...boss]));
    await parley.close();
    // It finds its list of currencies only from the folder that contains the package.
    const { stdout, stderr } = await shell(
      `cd venv/lib/python3*/site-packages
      exec ../../../bin/python -c "from focus_validator.main import main; main()" --validate-version 1.0 --data-file`,
      { args: [file], cwd: installed.folder },
    );
    const failed = [...stdout.matchAll(/^(\w+) failed:$/gm)].map(([, check]) => check);
    expect(failed.sort(), stderr).toEqual([...draft, ...broken, ...conditional].sort());
  });
});
