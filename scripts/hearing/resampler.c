/* The inner loop of src/media/encoders/resample.ts: a polyphase filter over samples, four taps at a time. */
#include <wasm_simd128.h>

static short to_int16(float value) {
  float rounded = __builtin_floorf(value + 0.5f);
  return rounded > 32767 ? 32767 : rounded < -32768 ? -32768 : (short)rounded;
}

/* The sum of `taps` products, an even number. */
static float dot(const float *window, const float *row, int taps) {
  v128_t first = wasm_f32x4_splat(0), second = first;
  int tap = 0;
  for (; tap + 8 <= taps; tap += 8) {
    first = wasm_f32x4_add(first, wasm_f32x4_mul(wasm_v128_load(window + tap), wasm_v128_load(row + tap)));
    second = wasm_f32x4_add(second, wasm_f32x4_mul(wasm_v128_load(window + tap + 4), wasm_v128_load(row + tap + 4)));
  }
  v128_t sums = wasm_f32x4_add(first, second);
  float sum = (wasm_f32x4_extract_lane(sums, 0) + wasm_f32x4_extract_lane(sums, 1)) +
              (wasm_f32x4_extract_lane(sums, 2) + wasm_f32x4_extract_lane(sums, 3));
  for (; tap < taps; tap++) sum += window[tap] * row[tap];
  return sum;
}

/* Writes `count` samples to `output`, from `phase` of the first position on. */
__attribute__((export_name("resample"))) void resample(const float *window, const float *coefficients, int taps, int up,
                                                        int down, int phase, short *output, int count) {
  int position = 0;
  for (int index = 0; index < count; index++) {
    output[index] = to_int16(dot(window + position, coefficients + phase * taps, taps));
    phase += down;
    position += phase / up;
    phase %= up;
  }
}
