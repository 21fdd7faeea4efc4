import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import { usageError } from '../terminal/command.ts';
import { printData, shown } from '../terminal/terminal.ts';
import { allOrOwnCommand, pages, withAdmin } from './admin-command.ts';
import { type UsageFilterFlags, usageFilter, withFilters } from './usage-filter.ts';

interface ExportFlags extends UsageFilterFlags {
  readonly csv?: boolean;
  readonly jsonl?: boolean;
}

export function exportCommand(): Command {
  const command = allOrOwnCommand('export', 'Print all usage records, the newest first.');
  return withFilters(command)
    .option('--csv', 'as CSV (RFC 4180): a header line, then one line per record')
    .option('--jsonl', 'as JSON Lines: one object per record')
    .action((_, self: Command) => exportUsage(self.optsWithGlobals(), self));
}

function exportUsage(flags: ExportFlags, command: Command): Promise<void> {
  if (flags.csv === flags.jsonl) usageError(command, 'give --csv or --jsonl');
  return withAdmin(flags, async (admin) => {
    const { codec, columns } = await usageRecords();
    if (flags.csv) await printData(csvLine(columns));
    for await (const { records } of pages(admin, 'listUsageRecords', usageFilter(flags))) {
      const objects = records.map((record) => codec.encode(record) as JsonObject);
      await printData(
        objects
          .map((object) =>
            flags.csv
              ? csvLine(columns.map((column) => cellText(object[column])))
              : shown(`${JSON.stringify(object)}\n`),
          )
          .join(''),
      );
    }
  });
}

async function usageRecords() {
  const { UsageRecordSchema } = await import('../../../gen/parley/account/v1/account_pb.ts');
  const { jsonCodec } = await import('../../codec/codec.ts');
  const columns = UsageRecordSchema.fields.map(({ jsonName }) => jsonName);
  return { codec: jsonCodec(UsageRecordSchema), columns };
}

/** The members that are no single value are JSON. */
function cellText(value: JsonValue | undefined): string {
  if (Array.isArray(value) && value.length === 0) return '';
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
}

export function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => csvCell(shown(cell))).join(',')}\r\n`;
}

/** Quotes a cell if necessary. A leading quote mark keeps spreadsheets from reading text as a formula. */
function csvCell(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
