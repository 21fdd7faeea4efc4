import type { Calls } from './calls.ts';
import type { RemoteCatalog } from './catalog.ts';

/** A model of the remote, and the ways to it. */
export interface RemoteModel {
  /** The id that the remote knows it by. */
  readonly name: string;
  readonly calls: Calls;
  readonly catalog: RemoteCatalog;
}
