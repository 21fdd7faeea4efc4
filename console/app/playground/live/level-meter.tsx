const floorDecibels = -60;

/** The loudness of the microphone, on a scale of decibels, as people hear. */
export function LevelMeter({ peak }: { readonly peak: number }) {
  const decibels = 20 * Math.log10(Math.max(peak, 0.000001));
  const share = Math.max(0, Math.min(1, 1 - decibels / floorDecibels));
  return <meter class="level" aria-label="Level of the microphone" min={0} max={1} value={share} />;
}
