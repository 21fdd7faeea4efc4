/** The WebAssembly build of the package, which has no types of its own. */
declare module '@evan/opus/wasm/index.js' {
  export class Encoder {
    /** Throws if the rate is not one of Opus's five. */
    constructor(options: { channels: 1 | 2; application: 'voip' | 'audio'; sample_rate: number });
    /** Reads a setting. */
    ctl(request: number): number;
    /** Changes a setting. Throws if libopus refuses it. */
    ctl(request: number, value: number): number;
    /** Encodes one frame of 16-bit samples into one packet. */
    encode(frame: Int16Array): Uint8Array<ArrayBuffer>;
    /** Frees the encoder's memory. */
    drop(): void;
  }
}
