import { useEffect, useRef, useState } from 'react';
import { TABS } from '../route.ts';
import * as t from '../text/t.ts';
import { Modal } from './modal.tsx';

export const SEARCH_KEY = '/';
const HELP_KEY = '?';

const GO = TABS.map(({ page, hash }, index) => ({
  key: String(index + 1),
  hash,
  text: t.shell.tabs[page],
}));

const { keyboard } = t.shell;
const ROWS = [
  ...GO.map(({ key, text }) => ({ keys: [key], text })),
  { keys: [t.palette.keys.other], text: keyboard.palette },
  { keys: [SEARCH_KEY], text: keyboard.search },
  { keys: keyboard.keys.moves, text: keyboard.moves },
  { keys: keyboard.keys.open, text: keyboard.open },
  { keys: keyboard.keys.turn, text: keyboard.turn },
  { keys: keyboard.keys.close, text: keyboard.close },
  { keys: [HELP_KEY], text: keyboard.help },
];

export function Shortcuts() {
  const [isOpen, setIsOpen] = useState(false);
  useShortcuts({
    ...Object.fromEntries(GO.map(({ key, hash }) => [key, () => void (location.hash = hash)])),
    [HELP_KEY]: () => setIsOpen(true),
  });
  return (
    <>
      {isOpen && (
        <Modal title={keyboard.title} onClose={() => setIsOpen(false)}>
          <dl className="shortcuts">
            {ROWS.map(({ keys, text }) => (
              <div key={text}>
                <dt>
                  {keys.map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
        </Modal>
      )}
    </>
  );
}

/** Each is called when its key is pressed without modifiers, outside fields and dialogs. */
export function useShortcuts(runs: Readonly<Record<string, () => void>>): void {
  useKeyDown((event) => {
    const run = runs[event.key];
    if (run === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.defaultPrevented || isTyping(event.target)) return;
    event.preventDefault();
    run();
  });
}

/** Ctrl+K, or ⌘K on a Mac, wherever the focus is. */
export function usePaletteKey(run: () => void): void {
  useKeyDown((event) => {
    if (event.key.toLowerCase() !== 'k' || event.altKey || event.shiftKey) return;
    if (event.ctrlKey === event.metaKey) return;
    event.preventDefault();
    run();
  });
}

function useKeyDown(onKey: (event: KeyboardEvent) => void): void {
  const latest = useRef(onKey);
  useEffect(() => {
    latest.current = onKey;
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => latest.current(event);
    addEventListener('keydown', listener);
    return () => removeEventListener('keydown', listener);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof Element &&
    target.closest('input, textarea, select, dialog, [contenteditable]') !== null
  );
}
