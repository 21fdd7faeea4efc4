/** Images of a message, made small enough to be sent and kept. */

/** Of one message. */
export const imagesMax = 4;
const sidePixelsMax = 1_024;

/**
 * A `data:` URL of the image as JPEG.
 * @throws DOMException if the browser cannot read the image
 */
export async function imageUrl(file: Blob): Promise<string> {
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, sidePixelsMax / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const context = canvas.getContext('2d');
  if (context === null) throw new DOMException('no canvas');
  // JPEG has no transparency.
  context.fillStyle = 'white';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas.toDataURL('image/jpeg', 0.85);
}

export const imagesIn = (data: DataTransfer | null | undefined): File[] =>
  [...(data?.files ?? [])].filter(({ type }) => type.startsWith('image/'));
