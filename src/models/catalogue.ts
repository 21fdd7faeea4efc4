/** The models that Parley knows by name. The hash of each file was found in two public places, which the entry names. */
import kokoro from './catalogue/kokoro-82m.json' with { type: 'json' };
import moonshineBaseEn from './catalogue/moonshine-base-en.json' with { type: 'json' };
import moonshineTinyEn from './catalogue/moonshine-tiny-en.json' with { type: 'json' };
import piperKristin from './catalogue/piper-kristin.json' with { type: 'json' };
import qwen25 from './catalogue/qwen2.5-0.5b.json' with { type: 'json' };
import qwen3 from './catalogue/qwen3-0.6b.json' with { type: 'json' };
import smollm2 from './catalogue/smollm2-135m.json' with { type: 'json' };
import whisperBase from './catalogue/whisper-base.json' with { type: 'json' };
import whisperTinyEn from './catalogue/whisper-tiny.en.json' with { type: 'json' };
import { checkManifest, type ModelManifest } from './manifest.ts';

export interface CatalogueEntry {
  /** Its languages and its use, in a few words. */
  readonly about: string;
  /** Independent public places, each with the names of the files whose hashes it states. */
  readonly found: Readonly<Record<string, readonly string[]>>;
  readonly manifest: ModelManifest;
}

/** In the order in which they are listed. */
export function catalogue(): CatalogueEntry[] {
  const recognisers = [moonshineTinyEn, moonshineBaseEn, whisperTinyEn, whisperBase];
  return [...recognisers, piperKristin, kokoro, qwen25, qwen3, smollm2].map(({ manifest, ...entry }) => {
    return { ...entry, manifest: checkManifest(manifest, `${manifest.id} of the catalogue`) };
  });
}
