/** The configuration file of the running server, as operators change it. */
export const entrySections = ['engines', 'models', 'realtime'] as const;

export interface FileEntry {
  readonly section: (typeof entrySections)[number];
  /** The name of an engine, or the id of a model or conversation. */
  readonly name: string;
  /** Its settings, with their comments. The name of an engine is not among them. */
  readonly yaml: string;
}

export interface EditableFile {
  readonly path: string;
  /** Differs with every other content. */
  readonly version: string;
  /** A read-only entry has no `yaml`, as it may hold secrets. */
  readonly entries: readonly (FileEntry & { readonly isReadOnly: boolean })[];
  /** Why nothing can be changed here, with what to do; undefined if it can. */
  readonly problem: string | undefined;
  readonly canUndo: boolean;
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

export interface FileFinding {
  /** The setting, such as `models[0].price`; undefined if the finding concerns no single one. */
  readonly setting: string | undefined;
  readonly message: string;
}

export interface FileChangeResult {
  /** The version of the content after the change. */
  readonly version: string;
  /** Removed and added lines, after `- ` and `+ `. */
  readonly diff: readonly string[];
  /** Why the change is refused; empty if it can be made, or was. */
  readonly findings: readonly FileFinding[];
}

export interface ConfigurationEditor {
  readonly path: string;
  read(): EditableFile;
  /**
   * Makes one change after the other, completely or not at all.
   * @param record writes the audit entry
   * @throws `invalid_parameter` if the file has another version, or nothing can be changed here
   */
  change(change: FileChange, record: (diff: readonly string[]) => Promise<void>): Promise<FileChangeResult>;
}
