/** The configuration file of the running server, as operators change it. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { GetConfigurationResponseSchema } from '../../../gen/parley/admin/v1/admin_pb.ts';

export const entrySections = ['engines', 'models', 'realtime'] as const;

export interface FileEntry {
  readonly section: (typeof entrySections)[number];
  /** The name of an engine, or the id of a model or conversation. */
  readonly name: string;
  /** Its settings, with their comments. The name of an engine is not among them. */
  readonly yaml: string;
}

export interface EntryEdit extends FileEntry {
  /** A key for the engine, which goes to a file of its own. */
  readonly apiKey?: string | undefined;
  /** Whether no entry of the name may be there. */
  readonly mustBeNew: boolean;
}

export interface FileChange {
  /** The version that the author has seen. */
  readonly version: string;
  /** Whether to change nothing. */
  readonly isTried: boolean;
  /** The entries to change, or `undo` for the content before the last change. */
  readonly edits: readonly EntryEdit[] | 'undo';
}

/** A ChangeConfigurationResponse. */
export interface FileChangeResult {
  readonly version: string;
  readonly diff: string[];
  readonly findings: { readonly setting?: string; readonly message: string }[];
}

export interface ConfigurationEditor {
  readonly path: string;
  /** A read-only entry has no `yaml`, as it may hold secrets. */
  read(): MessageInitShape<typeof GetConfigurationResponseSchema>;
  /**
   * Makes one change after the other, completely or not at all.
   * @param record writes the audit entry
   * @throws `invalid_parameter` if the file has another version, or nothing can be changed here
   */
  change(change: FileChange, record: (diff: readonly string[]) => Promise<void>): Promise<FileChangeResult>;
}
