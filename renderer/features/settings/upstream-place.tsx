import { useState } from 'react';
import { HOSTED_IDS, type HostedId } from '#shared/ids.ts';
import type { SettingsView } from '#shared/settings.ts';
import { t } from '../../text/t.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorText } from '../../ui/error-text.tsx';
import { ConfirmDialog } from '../../ui/modal.tsx';
import { useWindow } from '../../window-context.ts';
import type { Drafts } from './draft.ts';

interface UpstreamPlaceProps {
  readonly id: HostedId;
  readonly label: string;
  readonly view: SettingsView;
  readonly drafts: Drafts;
}

const words = t.settings.place;

/** Moves a hosted upstream up or down in the routing order, and removes it. */
export function UpstreamPlace({ id, label, view, drafts }: UpstreamPlaceProps) {
  const { control, actions } = useWindow();
  const [error, setError] = useState<string | null>(null);
  const [isAsking, setAsking] = useState(false);
  const place = HOSTED_IDS.indexOf(id);
  const isEmpty = view[id]?.['baseUrl']?.value === null;
  const held = variableOf(view, id);

  const move = async (other: HostedId): Promise<void> => {
    const refusal = await actions.swapUpstreams(id, other);
    setError(refusal?.message ?? null);
    if (refusal === null) goTo(other);
  };
  const remove = async (): Promise<void> => {
    setAsking(false);
    const refusal = await actions.saveSettings(removalOf(view, id));
    setError(refusal?.message ?? null);
  };
  const mover = (other: HostedId | undefined, word: string) => {
    const variable = other === undefined ? null : (held ?? variableOf(view, other));
    const isDirty = hasDrafts(drafts, id) || (other !== undefined && hasDrafts(drafts, other));
    const why = isDirty ? words.saveFirst : variable && words.held(variable);
    return (
      <Button
        disabled={!control || other === undefined || why !== null}
        title={why ?? undefined}
        onClick={() => void (other !== undefined && move(other))}
      >
        {word}
        <span className="unseen"> {label}</span>
      </Button>
    );
  };

  if (isEmpty && held === null) return null;
  return (
    <>
      {mover(HOSTED_IDS[place - 1], words.up)}
      {mover(HOSTED_IDS[place + 1], words.down)}
      <Button
        disabled={!control || held !== null}
        title={held === null ? undefined : words.held(held)}
        onClick={() => setAsking(true)}
      >
        {words.remove}
        <span className="unseen"> {label}</span>
      </Button>
      {held !== null && <span className="quiet">{words.held(held)}</span>}
      <ErrorText text={error} />
      {isAsking && (
        <ConfirmDialog
          title={words.removeTitle(label)}
          action={words.removeNow(label)}
          onConfirm={() => void remove()}
          onClose={() => setAsking(false)}
        >
          {words.removeText}
        </ConfirmDialog>
      )}
    </>
  );
}

/** The first variable that sets a value of the upstream; null if none does. */
function variableOf(view: SettingsView, id: HostedId): string | null {
  return Object.values(view[id] ?? {}).find(({ source }) => source === 'env')?.env ?? null;
}

const hasDrafts = (drafts: Drafts, id: HostedId): boolean =>
  Object.keys(drafts).some((path) => path.startsWith(`${id}.`));

/** Every setting of the upstream back to its default, and its key deleted. */
function removalOf(view: SettingsView, id: HostedId): object {
  return { [id]: Object.fromEntries(Object.keys(view[id] ?? {}).map((key) => [key, null])) };
}

/** The upstream has moved to the section of that place: opens it, and moves the focus there. */
function goTo(id: HostedId): void {
  const section = document.getElementById(`section-${id}`);
  if (!(section instanceof HTMLDetailsElement)) return;
  section.open = true;
  section.querySelector('summary')?.focus();
}
