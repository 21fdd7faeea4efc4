/** Whether a package among the dependencies only builds the server, so that nothing of it is part of the server. @param {string} name */
export function isBuildTool(name) {
  return /^(esbuild|@esbuild\/.*|marked)$/.test(name);
}
