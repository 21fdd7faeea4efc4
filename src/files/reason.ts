/** The code of a system error, such as `ENOENT`; undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

const reasons = new Map([
  ['ENOENT', 'there is no such file or folder'],
  ['EACCES', 'permission denied'],
  ['EPERM', 'permission denied'],
  ['EISDIR', 'it is a folder'],
  ['ENOTDIR', 'a part of its path is not a folder'],
  ['EEXIST', 'it exists already'],
  ['ENOSPC', 'the disk is full'],
  ['EROFS', 'the disk is read-only'],
]);

/** The reason of a file error in words, for use in brackets. */
export function fileReason(error: unknown): string {
  const code = systemCode(error);
  return (code && reasons.get(code)) ?? code ?? String(error);
}
