import { HOSTED_IDS, type HostedId, type UpstreamId } from '#shared/ids.ts';
import type { SettingsView } from '#shared/settings-view.ts';
import { Button } from '../../ui/buttons.tsx';
import { ErrorText } from '../../ui/fields.tsx';
import { ConfirmButton } from '../../ui/modal.tsx';
import { useAttempt } from '../../ui/use-optimistic-value.ts';
import { useWindow } from '../../window-context.ts';

interface UpstreamPlaceProps {
  readonly id: HostedId;
  readonly label: string;
  readonly view: SettingsView;
  /** True while there is unsaved input, which would not move along. */
  readonly isDirty: boolean;
}

export const hasAddress = (view: SettingsView, id: UpstreamId): boolean =>
  view[id]?.['baseUrl']?.value !== null;

/** Moves a hosted upstream up or down in the fallback order, or removes it. */
export function UpstreamPlace({ id, label, view, isDirty }: UpstreamPlaceProps) {
  const { control, actions } = useWindow();
  const { error, attempt } = useAttempt();
  const place = HOSTED_IDS.indexOf(id);
  // The first variable that sets a value of the upstream.
  const held = Object.values(view[id] ?? {}).find(({ source }) => source === 'env')?.env ?? null;
  if (!hasAddress(view, id) && held === null) return null;
  const move = async (other: HostedId): Promise<void> => {
    if (!(await attempt(actions.swapUpstreams(id, other)))) return;
    // The upstream is now in the section of that place, so the focus moves along.
    const section = document.getElementById(`section-${other}`) as HTMLDetailsElement;
    section.open = true;
    section.querySelector('summary')?.focus();
  };
  const mover = (other: HostedId | undefined, word: string) => (
    <Button
      disabled={
        !control || other === undefined || !hasAddress(view, other) || held !== null || isDirty
      }
      title={isDirty ? 'Save or discard the changes first.' : undefined}
      onClick={() => void (other !== undefined && move(other))}
    >
      {word}
      <span className="unseen"> {label}</span>
    </Button>
  );
  // This resets every setting of the upstream, and deletes its key.
  const removal = {
    [id]: Object.fromEntries(Object.keys(view[id] ?? {}).map((key) => [key, null])),
  };
  return (
    <>
      {mover(HOSTED_IDS[place - 1], 'Move up')}
      {mover(HOSTED_IDS[place + 1], 'Move down')}
      <ConfirmButton
        disabled={!control || held !== null}
        asks={`Remove ${label}?`}
        text="Its key is deleted and all its settings return to their defaults. The History keeps what it has done."
        action={`Remove ${label}`}
        onConfirm={async () => void (await attempt(actions.saveSettings(removal)))}
      >
        Remove…
        <span className="unseen"> {label}</span>
      </ConfirmButton>
      {held !== null && (
        <span className="quiet">Set by {held}, so it cannot be moved or removed here.</span>
      )}
      <ErrorText text={error} />
    </>
  );
}
