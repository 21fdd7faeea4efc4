/** The path in front of every REST operation. The contract of the interface fixes it. */
export const basePath = '/api/v1';
