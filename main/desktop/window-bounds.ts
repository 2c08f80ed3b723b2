import type { Rectangle } from 'electron';
import { z } from 'zod';
import type { ScreenApi, WindowApi } from './electron-api.ts';

const savedWindowSchema = z.object({
  bounds: z.object({ x: z.int(), y: z.int(), width: z.int(), height: z.int() }),
  isMaximized: z.boolean(),
  /** Whether the owner has been told that closing the window leaves the gateway running. */
  isTrayExplained: z.boolean(),
});

/** What the desktop app saves about its window. */
export type SavedWindow = z.infer<typeof savedWindowSchema>;

export function parseSavedWindow(value: unknown): SavedWindow | null {
  return savedWindowSchema.safeParse(value).data ?? null;
}

/** How much of a title bar must be visible to be dragged, in pixels. */
const GRIP = { width: 120, height: 32 };

/**
 * The saved bounds; null if their title bar cannot be reached, because its screen is gone. A window larger than its
 * screen is made to fit.
 */
export function reachableBounds(
  saved: Rectangle,
  workAreas: readonly Rectangle[],
): Rectangle | null {
  for (const area of workAreas) {
    const seenWidth =
      Math.min(saved.x + saved.width, area.x + area.width) - Math.max(saved.x, area.x);
    const isGripSeen =
      seenWidth >= GRIP.width && saved.y >= area.y && saved.y + GRIP.height <= area.y + area.height;
    if (!isGripSeen) continue;
    const width = Math.min(saved.width, area.width);
    const height = Math.min(saved.height, area.height);
    return { x: saved.x, y: saved.y, width, height };
  }
  return null;
}

/**
 * Where to move a hidden window before it is shown again, as its screen may have been unplugged; null if it can be
 * reached.
 */
export function rescuedBounds(
  { x, y, width, height }: Rectangle,
  workAreas: readonly Rectangle[],
): Rectangle | null {
  const [area] = workAreas;
  if (area === undefined || reachableBounds({ x, y, width, height }, workAreas) !== null)
    return null;
  const size = { width: Math.min(width, area.width), height: Math.min(height, area.height) };
  return {
    x: area.x + Math.round((area.width - size.width) / 2),
    y: area.y + Math.round((area.height - size.height) / 2),
    ...size,
  };
}

export interface SavedWindowFile {
  /** Null at the first start or if the file cannot be read. */
  read(): SavedWindow | null;
  write(saved: SavedWindow): void;
}

export interface WindowMemory {
  /** Null for the default position. */
  bounds(): Rectangle | null;
  wasMaximized(): boolean;
  /** Moves a hidden window whose screen is gone. */
  rescue(window: Pick<WindowApi, 'getNormalBounds' | 'setBounds'>): void;
  remember(window: Pick<WindowApi, 'getNormalBounds' | 'isMaximized'>): void;
  /** True for the first call on this machine; remembered in the file. */
  explainTray(): boolean;
}

export function createWindowMemory(file: SavedWindowFile, screen: ScreenApi): WindowMemory {
  let saved = file.read();
  const workAreas = () => screen.getAllDisplays().map(({ workArea }) => workArea);
  return {
    bounds: () => (saved === null ? null : reachableBounds(saved.bounds, workAreas())),
    wasMaximized: () => saved?.isMaximized ?? false,
    rescue(window) {
      const bounds = rescuedBounds(window.getNormalBounds(), workAreas());
      if (bounds !== null) window.setBounds(bounds);
    },
    remember(window) {
      saved = {
        bounds: window.getNormalBounds(),
        isMaximized: window.isMaximized(),
        isTrayExplained: saved?.isTrayExplained ?? false,
      };
      file.write(saved);
    },
    explainTray() {
      if (saved === null || saved.isTrayExplained) return false;
      saved = { ...saved, isTrayExplained: true };
      file.write(saved);
      return true;
    },
  };
}
