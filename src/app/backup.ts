/** What `parley backup` and `parley restore` do in the room that the command line does not know. */
export { BackupError, type BackupFacts, backUp } from '../store/maintenance/backup.ts';
export { type Restored, restore } from '../store/maintenance/restore.ts';
export { DataInUseError } from '../store/sqlite/data-folder.ts';
