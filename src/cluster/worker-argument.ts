/** The last argument of a process that is a worker. */
export const workerArgument = 'serve-worker';
