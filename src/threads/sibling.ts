/**
 * The URL of a worker-thread entry that lies beside the calling module. The sources run as TypeScript under the
 * tests and as JavaScript once built, so the extension follows the caller's own.
 */
export function siblingWorker(callerUrl: string, name: string): URL {
  const extension = callerUrl.endsWith('.ts') ? '.ts' : '.js';
  return new URL(`./${name}${extension}`, callerUrl);
}
