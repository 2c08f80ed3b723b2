import { useState } from 'react';
import {
  KEY_LIMIT_NAMES,
  type KeyLimitName,
  type KeyLimitUse,
  MAX_KEY_LIMIT,
  type NamedKey,
} from '#shared/keys.ts';
import { WARNED_SHARE } from '#shared/usage.ts';
import type { Control } from '../../api/control.ts';
import { formatMinute, formatCount } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import { Button } from '../../ui/buttons.tsx';
import { ErrorText, Form, TextField } from '../../ui/fields.tsx';
import { Modal } from '../../ui/modal.tsx';
import { useAttempt } from '../../ui/use-optimistic-value.ts';

const words = t.keys.limits;

const TONES = { free: 'grey', near: 'amber', reached: 'red' } as const;

/** How much of a key's limits is used; renders nothing without limits. */
export function KeyLimitList({ limits }: Pick<NamedKey, 'limits'>) {
  if (limits.length === 0) return null;
  return (
    <ul className="key-limits">
      {limits.map((limit) => (
        <li key={limit.name} data-tone={TONES[standingOf(limit)]}>
          <span className="meter" aria-hidden="true">
            <span style={{ width: `${100 * Math.min(1, limit.used / limit.limit)}%` }} />
          </span>
          <span>{textOf(limit)}</span>
        </li>
      ))}
    </ul>
  );
}

function textOf(use: KeyLimitUse): string {
  const { name, used, limit, resetsAt } = use;
  const sum = `${words.names[name]}: ${formatCount(used)} of ${formatCount(limit)}`;
  switch (standingOf(use)) {
    case 'free':
      return sum;
    case 'near':
      return `${sum} · almost used up`;
    case 'reached':
      return `${sum} · used up until ${formatMinute(Date.parse(resetsAt), Date.now())}`;
  }
}

export function KeyLimitDialog(props: {
  readonly named: NamedKey;
  readonly onSave: Control['keys']['limit'];
  readonly onClose: () => void;
}) {
  const { named, onSave, onClose } = props;
  const [draft, setDraft] = useState(draftOf(named.limits));
  const { error, attempt } = useAttempt();
  const save = async (): Promise<void> => {
    if (await attempt(onSave(named.name, changeOf(draft)))) onClose();
  };
  return (
    <Modal title={`Limits for ${named.name}`} onClose={onClose}>
      <p className="modal-text">
        Once a limit is reached, requests with this key get an error until the next day or month. No
        upstream is called for them.
      </p>
      <Form className="limit-form" onSend={save}>
        {KEY_LIMIT_NAMES.map((name) => (
          <TextField
            key={name}
            label={words.names[name]}
            type="number"
            inputMode="numeric"
            min={1}
            max={MAX_KEY_LIMIT}
            step={1}
            value={draft[name]}
            placeholder="no limit"
            onChange={(text) => setDraft({ ...draft, [name]: text })}
          />
        ))}
        <Button type="submit" data-primary>
          {t.settings.save.save}
        </Button>
        <ErrorText text={error} />
      </Form>
    </Modal>
  );
}

type LimitStanding = 'free' | 'near' | 'reached';

export function standingOf({ used, limit }: KeyLimitUse): LimitStanding {
  if (used >= limit) return 'reached';
  return used >= WARNED_SHARE * limit ? 'near' : 'free';
}

type LimitDraft = Readonly<Record<KeyLimitName, string>>;

export function draftOf(limits: readonly KeyLimitUse[]): LimitDraft {
  const text = (name: KeyLimitName) =>
    String(limits.find((each) => each.name === name)?.limit ?? '');
  return Object.fromEntries(KEY_LIMIT_NAMES.map((name) => [name, text(name)])) as LimitDraft;
}

/** The form in which the gateway accepts limits: all of them, null for none. */
export function changeOf(draft: LimitDraft): Readonly<Record<string, number | null>> {
  return Object.fromEntries(
    KEY_LIMIT_NAMES.map((name) => [name, draft[name] === '' ? null : Number(draft[name])]),
  );
}
