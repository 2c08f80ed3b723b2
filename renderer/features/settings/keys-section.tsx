import { KEYS } from '../../text/en/nouns.ts';
import { useState } from 'react';
import type { AddedKey, KeyList, NamedKey } from '#shared/keys.ts';
import { formatMoment, counted } from '../../text/format.ts';
import { refusalText } from '../../text/refusal-text.ts';
import * as t from '../../text/t.ts';
import { Button, CodeLine } from '../../ui/buttons.tsx';
import { ErrorText, Form } from '../../ui/fields.tsx';
import { ConfirmButton } from '../../ui/modal.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow } from '../../window-context.ts';
import { KeyLimitDialog, KeyLimitList, standingOf } from './key-limits.tsx';

const words = t.keys;

interface KeysSectionProps {
  readonly revision: number;
  readonly onChanged: () => void;
}

/** A new key is shown only until the page is left. */
export function KeysSection({ revision, onChanged }: KeysSectionProps) {
  const { keys } = useWindow().actions;
  const { value: list, failure, again } = useReading(keys.list, revision, null);
  const [added, setAdded] = useState<AddedKey | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [limiting, setLimiting] = useState<NamedKey | null>(null);

  const add = async (name: string): Promise<boolean> => {
    const answer = await keys.add(name);
    setError(answer.ok ? null : refusalText(answer.refusal, { name: words.name }));
    if (!answer.ok) return false;
    setAdded(answer.value);
    onChanged();
    return true;
  };
  const revoke = async (revoked: string): Promise<void> => {
    const refusal = await keys.revoke(revoked);
    setError(refusal?.message ?? null);
    if (refusal === null && added?.name === revoked) setAdded(null);
    onChanged();
  };

  return (
    <details className="panel settings-section">
      <summary>
        <h2>{words.title}</h2>
        <span className="settings-summary quiet one-line">{summaryOf(list)}</span>
      </summary>
      <div className="keys">
        <p className="quiet">
          Named keys show which app made a request. Once a key exists, every app needs one: enter it
          where the app asks for an API key.
        </p>
        <ul className="key-list" aria-label={words.title}>
          {list?.keys.map((key) => (
            <li key={key.name} className="row">
              <strong>{key.name}</strong>
              <span className="quiet">{lastUse(key)}</span>
              <span className="row">
                <Button onClick={() => setLimiting(key)}>
                  Limits<span className="unseen"> for {key.name}</span>…
                </Button>
                <ConfirmButton
                  asks={`Revoke ${key.name}?`}
                  text={`Apps that use this key are refused from now on.${isLastKey(list) ? ' It is the last one: after that, a gateway for this machine only needs no key, and a shared one refuses every request.' : ''}`}
                  action={`Revoke ${key.name}`}
                  onConfirm={() => revoke(key.name)}
                >
                  Revoke<span className="unseen"> {key.name}</span>…
                </ConfirmButton>
              </span>
              <KeyLimitList limits={key.limits} />
            </li>
          ))}
        </ul>
        <output className="added-key">
          {added && (
            <>
              {`Key “${added.name}” created. Copy it now: it is not shown again.`}
              <CodeLine text={added.key} what="key" />
            </>
          )}
        </output>
        <KeyForm onAdd={add} />
        <ErrorText text={error ?? failure?.refusal.message ?? null} />
      </div>
      {limiting !== null && (
        <KeyLimitDialog
          named={limiting}
          onSave={keys.limit}
          onClose={() => {
            setLimiting(null);
            again();
          }}
        />
      )}
    </details>
  );
}

/** `onAdd` resolves with whether the key was created. */
function KeyForm({ onAdd }: { readonly onAdd: (name: string) => Promise<boolean> }) {
  const [name, setName] = useState('');
  return (
    <Form
      aria-label="New key"
      className="row key-form"
      onSend={async () => (await onAdd(name.trim())) && setName('')}
    >
      <label htmlFor="key-name">{words.name}</label>
      <input
        id="key-name"
        value={name}
        maxLength={64}
        autoComplete="off"
        spellCheck={false}
        placeholder="laptop"
        onChange={(event) => setName(event.target.value)}
      />
      <Button type="submit" data-primary disabled={name.trim() === ''}>
        Create key
      </Button>
    </Form>
  );
}

const isLastKey = (list: KeyList | null): boolean => list?.keys.length === 1 && list.unnamed === 0;

function summaryOf(list: KeyList | null): string {
  if (list === null) return '';
  const { keys, unnamed } = list;
  if (keys.length + unnamed === 0) return 'none: any app on this machine may connect';
  const standings = keys.flatMap(({ limits }) => limits.map(standingOf));
  const warning = (['reached', 'near'] as const).find((each) => standings.includes(each));
  const count = [
    counted(keys.length, KEYS),
    ...(unnamed === 0 ? [] : [`${unnamed} unnamed in Client API keys`]),
  ].join(', ');
  return warning === undefined ? count : `${count}; ${words.limits.some[warning]}`;
}

function lastUse({ createdAt, lastUsedAt }: NamedKey): string {
  const at = (time: string): string => formatMoment(Date.parse(time), Date.now());
  return lastUsedAt === null
    ? `created ${at(createdAt)}, not used yet`
    : `last used ${at(lastUsedAt)}`;
}
