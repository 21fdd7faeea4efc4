/** The address of a script for the audio thread, which the bundler keeps as a file of its own. */
declare module '*.worklet.js' {
  const url: string;
  export default url;
}
