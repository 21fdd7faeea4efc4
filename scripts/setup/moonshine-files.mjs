/** The files of Moonshine tiny for English (MIT) and of onnxruntime-web (MIT), and where they are published. */

/** @typedef {{ name: string, bytes: number, sha256: string, packed?: string }} File `packed` is its path in the package */

/** @type {readonly File[]} */
export const weights = [
  {
    name: 'encoder_model.ort',
    bytes: 13_281_600,
    sha256: '94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221',
  },
  {
    name: 'decoder_model_merged.ort',
    bytes: 30_412_256,
    sha256: 'cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0',
  },
  {
    name: 'tokenizer.bin',
    bytes: 249_974,
    sha256: '6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d',
  },
];
/** @type {readonly File[]} */
export const runtime = [
  {
    name: 'ort.mjs',
    packed: 'package/dist/ort.wasm.bundle.min.mjs',
    bytes: 73_054,
    sha256: '11e64bd8ffe11bd1a2a2f0d6275fdfbbba7262f0b76b99b53d228a8a22ef3d90',
  },
  {
    name: 'ort.wasm',
    packed: 'package/dist/ort-wasm-simd-threaded.wasm',
    bytes: 14_239_897,
    sha256: '3398c10d07d229bd91b364548e130e0e51a8e5704b88c7c083ebbeb78842dee2',
  },
];
export const publisher = 'https://download.moonshine.ai/model/tiny-en/quantized/tiny-en';
/** The publisher's package for Python has the weights inside, for networks that reach mirrors of packages only. */
export const wheel = 'moonshine-voice==0.0.73';
export const wheelPlatform = 'manylinux_2_34_x86_64';
export const runtimePackage = 'onnxruntime-web@1.30.0';
