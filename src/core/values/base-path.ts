/** The prefix of every REST path. The API's contract fixes it. */
export const basePath = '/api/v1';
