import { useState } from 'react';
import type { AddedKey, KeyList, NamedKey } from '#shared/keys.ts';
import type { Keys } from '../../api/keys.ts';
import { formatMoment, formatPlural } from '../../text/format.ts';
import { CodeLine } from '../../ui/code-line.tsx';
import { ErrorText } from '../../ui/error-text.tsx';
import { Modal } from '../../ui/modal.tsx';
import { useReading } from '../../ui/use-reading.ts';

/** Keys for apps: a new one is shown until the page is left, and never again. */
export function KeysSection({ keys }: { readonly keys: Keys }) {
  const { value: list, failure, again } = useReading(keys.list, null, null);
  const [added, setAdded] = useState<AddedKey | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [revoking, setRevoking] = useState<string | null>(null);

  const add = async (name: string): Promise<boolean> => {
    const answer = await keys.add(name);
    setError(answer.ok ? null : answer.refusal.message);
    if (!answer.ok) return false;
    setAdded(answer.value);
    again();
    return true;
  };
  const revoke = async (revoked: string): Promise<void> => {
    const refusal = await keys.revoke(revoked);
    setRevoking(null);
    setError(refusal?.message ?? null);
    if (refusal === null && added?.name === revoked) setAdded(null);
    again();
  };

  return (
    <details className="panel settings-section">
      <summary>
        <h2>Keys for apps</h2>
        <span className="settings-summary">{summaryOf(list)}</span>
      </summary>
      <div className="keys">
        <p className="quiet">
          A key with a name shows which app made a request. As soon as there is a key, every app
          needs one. It goes where the app asks for an API key.
        </p>
        <ul className="key-list" aria-label="Keys for apps">
          {list?.keys.map((key) => (
            <li key={key.name}>
              <strong>{key.name}</strong>
              <span className="quiet">{lastUse(key)}</span>
              <button type="button" className="button" onClick={() => setRevoking(key.name)}>
                Revoke<span className="unseen"> {key.name}</span>…
              </button>
            </li>
          ))}
        </ul>
        <output className="added-key">
          {added && (
            <>
              The key “{added.name}”. Copy it now: it is not shown again.
              <CodeLine text={added.key} what="key" />
            </>
          )}
        </output>
        <KeyForm onAdd={add} />
        <ErrorText text={error ?? failure?.refusal.message ?? null} />
      </div>
      {revoking !== null && (
        <Modal title={`Revoke ${revoking}?`} closing="Keep it" onClose={() => setRevoking(null)}>
          <p className="modal-text">
            The app that has this key gets no more answers. {isLast(list) && LAST_KEY}
          </p>
          <button
            type="button"
            className="button"
            data-danger
            onClick={() => void revoke(revoking)}
          >
            Revoke {revoking}
          </button>
        </Modal>
      )}
    </details>
  );
}

interface KeyFormProps {
  /** Whether the key was created. */
  readonly onAdd: (name: string) => Promise<boolean>;
}

function KeyForm({ onAdd }: KeyFormProps) {
  const [name, setName] = useState('');
  return (
    <form
      aria-label="New key"
      className="key-form"
      onSubmit={(event) => {
        event.preventDefault();
        void onAdd(name.trim()).then((isAdded) => isAdded && setName(''));
      }}
    >
      <label htmlFor="key-name">Name of the app</label>
      <input
        id="key-name"
        value={name}
        maxLength={64}
        autoComplete="off"
        spellCheck={false}
        placeholder="laptop"
        onChange={(event) => setName(event.target.value)}
      />
      <button type="submit" className="button" data-primary disabled={name.trim() === ''}>
        Create key
      </button>
    </form>
  );
}

const LAST_KEY = 'It is the last one: apps on this machine then need no key.';

const isLast = (list: KeyList | null): boolean => list?.keys.length === 1 && list.unnamed === 0;

function summaryOf(list: KeyList | null): string {
  if (list === null) return '';
  const { keys, unnamed } = list;
  if (keys.length + unnamed === 0) return 'none: every app on this machine may call';
  const more = unnamed === 0 ? [] : [`${unnamed} without a name in Client API keys`];
  return [formatPlural(keys.length, 'key'), ...more].join(', ');
}

function lastUse({ createdAt, lastUsedAt }: NamedKey): string {
  const at = (time: string): string => formatMoment(Date.parse(time), Date.now());
  return lastUsedAt === null
    ? `created ${at(createdAt)}, not used yet`
    : `last used ${at(lastUsedAt)}`;
}
