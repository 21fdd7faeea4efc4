/** How much of a long step is done, in words such as `downloading, 42 %`. */
export class Progress {
  text = '0 %';
  #show;

  /** @param {(text: string) => void} [show] called with each change */
  constructor(show = () => undefined) {
    this.#show = show;
    show(this.text);
  }

  /** @param {string} text */
  update(text) {
    if (text === this.text) return;
    this.text = text;
    this.#show(text);
  }
}

/** Makes apt-get print how much it has done, among its other lines. */
export const aptStatus = 'APT::Status-Fd=1';

/** Takes the output of apt-get with `aptStatus`. @param {Progress} progress @returns {(text: string) => void} */
export function aptProgress(progress) {
  return (text) => {
    const [, kind, percent] = [...text.matchAll(/^(dl|pm)status:[^:]*:(\d+)/gm)].at(-1) ?? [];
    if (percent !== undefined)
      progress.update(`${kind === 'dl' ? 'downloading' : 'installing'}, ${percent} %`);
  };
}
