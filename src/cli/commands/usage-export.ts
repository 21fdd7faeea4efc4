import type { JsonObject } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import { UsageRecordSchema } from '../../../gen/parley/account/v1/account_pb.ts';
import { jsonCodec } from '../../codec/codec.ts';
import { usageError } from '../terminal/command.ts';
import { printData } from '../terminal/terminal.ts';
import { adminCommand, withAdmin } from './admin-command.ts';
import { type UsageFilterFlags, usageFilter, withFilters } from './usage-filter.ts';

interface ExportFlags extends UsageFilterFlags {
  readonly csv?: boolean;
  readonly jsonl?: boolean;
}

const pageSize = 1_000;
const codec = jsonCodec(UsageRecordSchema);
const columns = UsageRecordSchema.fields.map(({ jsonName }) => jsonName);

export function exportCommand(): Command {
  const command = adminCommand('export', 'Write all usage records, the newest first, as they are read.', [
    'parley usage export --csv > usage.csv',
    'parley usage export --jsonl --account acme --since 30d | gzip > acme.jsonl.gz',
  ]);
  return withFilters(command)
    .option('--csv', 'a header line, then a line a record (RFC 4180)')
    .option('--jsonl', 'a JSON object a line')
    .action((_, self: Command) => exportUsage(self.optsWithGlobals(), self));
}

function exportUsage(flags: ExportFlags, command: Command): Promise<void> {
  if (flags.csv === flags.jsonl) usageError(command, 'give --csv or --jsonl');
  const filter = usageFilter(flags);
  return withAdmin(flags, async (admin) => {
    if (flags.csv) await printData(csvLine(columns));
    let pageToken: string | undefined;
    do {
      const request = { pageSize, ...filter, ...(pageToken !== undefined && { pageToken }) };
      const page = await admin.invoke('listUsageRecords', request);
      const records = page.records.map((record) => codec.encode(record) as JsonObject);
      await printData(
        records.map((record) => (flags.csv ? toCsv(record) : `${JSON.stringify(record)}\n`)).join(''),
      );
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
  });
}

function toCsv(record: JsonObject): string {
  return csvLine(columns.map((column) => String(record[column] ?? '')));
}

function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/** Quoted where it must be. A cell that a spreadsheet would take for a formula is made plain text. */
function csvCell(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
