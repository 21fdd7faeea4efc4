/** The speech models and voices as Riva's clients name them. */
import type { Model } from '../../../gen/parley/catalog/v1/catalog_pb.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { quote } from '../../core/values/quote.ts';

export interface ChosenVoice {
  readonly model: string;
  /** Undefined for the model's default voice. */
  readonly voice: string | undefined;
}

/**
 * @param models those that the key can call, in the configured order
 * @param name such as `flite.slt`, `flite` or `slt`; empty if any voice of the language will do
 * @throws `unknown_voice`; `engine_unavailable` without a model
 */
export function chooseVoice(models: readonly Model[], name: string, language: string): ChosenVoice {
  if (models.length === 0) {
    throw new ParleyError('engine_unavailable', {
      message: 'There is no speech model that your key can call.',
    });
  }
  const chosen = name === '' ? speaking(models, language) : named(models, name);
  if (chosen !== undefined) return chosen;
  const [param, wanted] =
    name === '' ? ['language_code', `for ${quote(language)}`] : ['voice_name', quote(name)];
  throw new ParleyError('unknown_voice', {
    message: `There is no voice ${wanted}. GetRivaSynthesisConfig lists models and voices; name them as in \`MODEL.VOICE\`.`,
    param,
  });
}

function named(models: readonly Model[], name: string): ChosenVoice | undefined {
  for (const { id, voices } of models) {
    if (name === id) return { model: id, voice: undefined };
    const voice = name.startsWith(`${id}.`) ? name.slice(id.length + 1) : undefined;
    if (voice !== undefined && voices.includes(voice)) return { model: id, voice };
  }
  const owner = models.find(({ voices }) => voices.includes(name));
  return owner && { model: owner.id, voice: name };
}

/** A voice with this very tag, or one of the same language. Default voices come first. */
function speaking(models: readonly Model[], tag: string): ChosenVoice | undefined {
  const all = models.flatMap((model) => {
    const isDefault = ({ id }: { readonly id: string }) => id === model.defaultVoice;
    const voices = [...model.voiceDetails].sort((a, b) => Number(isDefault(b)) - Number(isDefault(a)));
    return voices.map(({ id, language }) => ({
      model: model.id,
      voice: id,
      language: language.toLowerCase(),
    }));
  });
  const wanted = tag.toLowerCase();
  const primary = (language: string) => language.split(/[-_]/)[0];
  return (
    all.find(({ language }) => wanted === '' || language === wanted) ??
    // An upstream may not say what its voices speak.
    all.find(({ language }) => primary(language) === primary(wanted) || language === 'und')
  );
}
