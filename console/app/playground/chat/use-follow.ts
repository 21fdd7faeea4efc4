import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

/** The reader is at the end also a line above it. */
const slackPixels = 24;

/**
 * Scrolls with a growing text, unless the reader has scrolled up.
 * @param end of the text
 * @param below what covers the lower part of the window
 * @returns a function that takes the reader back to the end
 */
export function useFollow(
  end: RefObject<HTMLElement | null>,
  below: RefObject<HTMLElement | null>,
  content: unknown,
): () => void {
  const isFollowing = useRef(true);
  const lastY = useRef(scrollY);
  /** Height of the text that is out of view. */
  const hidden = () => {
    const [text, cover] = [end.current, below.current];
    return text && cover ? text.getBoundingClientRect().bottom - cover.getBoundingClientRect().top : 0;
  };
  const note = () => {
    if (hidden() <= slackPixels) isFollowing.current = true;
    else if (scrollY < lastY.current) isFollowing.current = false;
    lastY.current = scrollY;
  };
  useEffect(() => {
    document.addEventListener('scroll', note, { passive: true });
    return () => document.removeEventListener('scroll', note);
  }, []);
  useLayoutEffect(() => {
    // The event of a scroll may come after the text.
    note();
    if (isFollowing.current && hidden() > 0) scrollBy(0, hidden());
    lastY.current = scrollY;
  }, [content]);
  return () => {
    isFollowing.current = true;
    // A late event may report an earlier scroll.
    lastY.current = scrollY;
  };
}
