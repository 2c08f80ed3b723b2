import type { Page } from 'playwright-core';

/** What cannot be pressed or read at the page's size, one line each; both lists empty is a pass. */
interface LayoutFaults {
  /** Controls whose middle something else covers, or that lie outside the window; and a header over much of it. */
  readonly covered: readonly string[];
  /** Texts that lie on each other. */
  readonly collided: readonly string[];
  /** By how many pixels the page is wider than its window. */
  readonly over: number;
}

/** Hit-tests every control and compares the places of all texts: of the open dialog if there is one. */
export async function layoutFaults(page: Page): Promise<LayoutFaults> {
  return {
    ...(await page.evaluate(coveredControls)),
    collided: collisionsOf(await page.evaluate(textBoxes)),
  };
}

/** Runs in the page. */
function coveredControls(): Pick<LayoutFaults, 'covered' | 'over'> {
  const nameOf = (element: Element | null) =>
    element === null
      ? 'nothing'
      : `${element.tagName.toLowerCase()} "${(element.textContent || (element.getAttribute('aria-label') ?? '')).trim().slice(0, 60)}"`;
  const root = document.querySelector('dialog:modal') ?? document.body;
  const controls = root.querySelectorAll('a[href], button, input, select, textarea, summary');
  const covered: string[] = [];
  for (const control of controls) {
    if (!control.checkVisibility({ checkVisibilityCSS: true })) continue;
    if (control.closest('.unseen, .skip-link') !== null) continue;
    control.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
    // Of a link that breaks over two lines the middle of the box is empty.
    const { left, top, width, height } = control.getClientRects()[0] ?? new DOMRect();
    if (width === 0 || height === 0) continue;
    const hit = document.elementFromPoint(left + width / 2, top + height / 2);
    const ends = [control, control.closest('label')];
    if (!ends.some((end) => end?.contains(hit) === true))
      covered.push(`${nameOf(control)} under ${nameOf(hit)}`);
  }
  scrollTo({ top: 0, behavior: 'instant' });
  const { bottom } = document.querySelector('.header')?.getBoundingClientRect() ?? { bottom: 0 };
  if (bottom > 0.3 * innerHeight) covered.push(`the first ${bottom} px under the header`);
  return { covered, over: document.documentElement.scrollWidth - innerWidth };
}

/** The visible part of one line of text. */
interface TextBox {
  readonly text: string;
  /** Counts the elements that hold text: lines of one element cannot collide. */
  readonly element: number;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Runs in the page. What lies over the page on purpose is left out. */
function textBoxes(): TextBox[] {
  const clipped = (element: Element, { left, right, top, bottom }: DOMRect) => {
    const box = { left, right, top, bottom };
    for (let each: Element | null = element; each !== null; each = each.parentElement) {
      if (getComputedStyle(each).overflow === 'visible') continue;
      const clip = each.getBoundingClientRect();
      box.left = Math.max(box.left, clip.left);
      box.right = Math.min(box.right, clip.right);
      box.top = Math.max(box.top, clip.top);
      box.bottom = Math.min(box.bottom, clip.bottom);
    }
    return box;
  };
  const root = document.querySelector('dialog:modal') ?? document.body;
  const over = 'option, .waterfall, [role="tooltip"], .header, .banner, .unseen, .skip-link';
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const boxes: TextBox[] = [];
  for (let count = 0; texts.nextNode() !== null; count += 1) {
    const element = texts.currentNode.parentElement;
    const text = (texts.currentNode.nodeValue ?? '').trim();
    if (element === null || text === '' || element.closest(over) !== null) continue;
    if (!element.checkVisibility({ checkVisibilityCSS: true })) continue;
    range.selectNodeContents(texts.currentNode);
    for (const rect of range.getClientRects()) {
      const box = clipped(element, rect);
      if (box.right - box.left < 2 || box.bottom - box.top < 2) continue;
      boxes.push({ text: text.slice(0, 50), element: count, ...box });
    }
  }
  return boxes;
}

/** A line's box is higher than its letters: neighbours in a column touch by a few pixels. */
const SLACK_PX = 5;

function collisionsOf(boxes: readonly TextBox[]): string[] {
  return boxes.flatMap((a, index) =>
    boxes.slice(index + 1).flatMap((b) => {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const isOn = a.element !== b.element && across > 1 && down > SLACK_PX;
      return isOn ? [`"${a.text}" on "${b.text}"`] : [];
    }),
  );
}
