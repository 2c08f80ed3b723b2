import { useState } from 'react';
import { Modal } from './modal.tsx';
import { HELP_KEY, useShortcut } from './use-shortcut.ts';

const GO = [
  { key: '1', hash: '#/', text: 'Overview' },
  { key: '2', hash: '#/providers', text: 'Providers' },
  { key: '3', hash: '#/requests', text: 'Requests' },
  { key: '4', hash: '#/settings', text: 'Settings' },
] as const;

const ROWS = [
  ...GO.map(({ key, text }) => ({ keys: key, text })),
  { keys: '/', text: 'Search requests' },
  { keys: '↑ ↓ Page Up Page Down Home End', text: 'Move in the list of requests' },
  { keys: 'Enter', text: 'Open the request' },
  { keys: '← →', text: 'Newer or older request, while one is open' },
  { keys: 'Esc', text: 'Close what is open' },
  { keys: '?', text: 'This list' },
];

/** The keys of the window, and the sheet that lists them. */
export function Shortcuts() {
  const [isOpen, setIsOpen] = useState(false);
  useShortcut(HELP_KEY, () => setIsOpen(true));
  return (
    <>
      {GO.map(({ key, hash }) => (
        <Go key={key} letter={key} hash={hash} />
      ))}
      {isOpen && (
        <Modal title="Keyboard" closing="Close" onClose={() => setIsOpen(false)}>
          <dl className="shortcuts">
            {ROWS.map(({ keys, text }) => (
              <div key={keys}>
                <dt>
                  <kbd>{keys}</kbd>
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

function Go({ letter, hash }: { readonly letter: string; readonly hash: string }) {
  useShortcut(letter, () => {
    location.hash = hash;
  });
  return null;
}
