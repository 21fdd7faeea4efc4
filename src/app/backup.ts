/** What `parley backup` and `parley restore` do in the room that the command line does not know. */
export { BackupError, type BackupFacts, backUp } from '../store/backup.ts';
export { DataInUseError } from '../store/data-lock.ts';
export { type Restored, restore } from '../store/restore.ts';
