/** Whether the current working folder was deleted. Nothing can be created in it. */
export function workingFolderIsGone(): boolean {
  try {
    process.cwd();
    return false;
  } catch {
    return true;
  }
}
