import type { GroupResult } from './result.ts';

export interface Setting {
  /** True where the run shows that the bench works, not how fast anything is. */
  readonly short: boolean;
  /** Where the bench keeps what it has installed. */
  readonly cacheDir: string;
  /** Tells whoever waits what is being done. */
  say(line: string): void;
}

/** What is measured together, and can be measured by itself: `npm run bench -- --group NAME`. */
export interface Group {
  readonly name: string;
  readonly title: string;
  /** What is compared with what, in a sentence or two. */
  readonly method: string;
  run(setting: Setting): Promise<GroupResult>;
}
