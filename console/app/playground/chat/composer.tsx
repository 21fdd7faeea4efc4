/** The field for the next message, with images. It stays in view. */
import type { RefObject } from 'preact';
import { useState } from 'preact/hooks';
import { Icon } from '../../icons.tsx';
import type { Question } from './chat-run.ts';
import { imagesIn, imagesMax, imageUrl } from './images.ts';

interface Props {
  readonly element: RefObject<HTMLFormElement | null>;
  readonly isRunning: boolean;
  readonly isEmpty: boolean;
  readonly question: string;
  readonly onInput: (question: string) => void;
  /** Returns whether the message was sent. */
  readonly onSend: (question: Question) => boolean;
  readonly onStop: () => void;
  readonly onClear: () => void;
}

export function Composer({ element, isRunning, isEmpty, question, onInput, onSend, onStop, onClear }: Props) {
  const { images, problem, attach, remove, clear } = useImages();
  const submit = () => {
    const next = { question: question.trim(), images };
    if (isRunning || (next.question === '' && images.length === 0) || !onSend(next)) return;
    onInput('');
    clear();
  };
  return (
    <form
      ref={element}
      class="composer card"
      aria-label="Next message"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        attach(imagesIn(event.dataTransfer));
      }}
    >
      <Thumbnails images={images} onRemove={remove} />
      <p class="problem" role="alert">
        {problem}
      </p>
      <label class="unseen" for="question">
        Message
      </label>
      <textarea
        id="question"
        rows={2}
        placeholder="Message (Enter sends, Shift and Enter begins a new line)"
        value={question}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
        onPaste={({ clipboardData }) => attach(imagesIn(clipboardData))}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          submit();
        }}
      />
      <div class="buttons">
        {isRunning ? (
          <button type="button" class="primary" onClick={onStop}>
            Stop
          </button>
        ) : (
          <button type="submit" class="primary">
            Send
          </button>
        )}
        <label class="button" title="Or paste them, or drop them here">
          <Icon name="image" /> Images
          <input
            type="file"
            class="unseen"
            accept="image/*"
            multiple
            onChange={({ currentTarget }) => {
              attach([...(currentTarget.files ?? [])]);
              currentTarget.value = '';
            }}
          />
        </label>
        <button type="button" disabled={isEmpty || isRunning} onClick={onClear}>
          New <span class="longer">conversation</span>
        </button>
        <a class="to-settings" href="#settings" target="_self">
          Settings
        </a>
      </div>
    </form>
  );
}

function useImages() {
  const [images, setImages] = useState<readonly string[]>([]);
  const [problem, setProblem] = useState<string>();
  const attach = async (files: readonly Blob[]) => {
    if (files.length === 0) return;
    setProblem(undefined);
    try {
      const urls = await Promise.all(files.slice(0, imagesMax).map(imageUrl));
      setImages((last) => [...last, ...urls].slice(0, imagesMax));
      if (images.length + files.length > imagesMax) setProblem(`A message has at most ${imagesMax} images.`);
    } catch {
      setProblem('The browser cannot read this image. Try JPEG, PNG or WebP.');
    }
  };
  return {
    images,
    problem,
    attach: (files: readonly Blob[]) => void attach(files),
    remove: (index: number) => setImages(images.filter((_, at) => at !== index)),
    clear: () => setImages([]),
  };
}

interface ThumbnailsProps {
  readonly images: readonly string[];
  readonly onRemove?: (index: number) => void;
}

export function Thumbnails({ images, onRemove }: ThumbnailsProps) {
  if (images.length === 0) return null;
  return (
    <ul class="thumbnails">
      {images.map((url, index) => (
        <li key={url}>
          <img src={url} alt={`Attachment ${index + 1}`} />
          {onRemove && (
            <button type="button" onClick={() => onRemove(index)}>
              Remove <span class="unseen">image {index + 1}</span>
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
