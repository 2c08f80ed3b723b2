import { HOSTED_IDS, type HostedId } from '#shared/ids.ts';
import type { SettingsView } from '#shared/settings.ts';
import * as t from '../../text/t.ts';
import { Button } from '../../ui/buttons.tsx';
import { ErrorText } from '../../ui/fields.tsx';
import { ConfirmButton } from '../../ui/modal.tsx';
import { useAttempt } from '../../ui/use-optimistic-value.ts';
import { useWindow } from '../../window-context.ts';
import type { Drafts } from './draft.ts';

/** A hosted upstream among the others, with what is saved and what is not. */
export interface Placed {
  readonly id: HostedId;
  readonly view: SettingsView;
  readonly drafts: Drafts;
}

interface UpstreamPlaceProps extends Placed {
  readonly label: string;
}

const words = t.settings.place;

export function UpstreamPlace({ id, label, view, drafts }: UpstreamPlaceProps) {
  const { control, actions } = useWindow();
  const { error, attempt } = useAttempt();
  const place = HOSTED_IDS.indexOf(id);
  const held = variableOf(view, id);

  const move = async (other: HostedId): Promise<void> => {
    if (await attempt(actions.swapUpstreams(id, other))) goTo(other);
  };
  const remove = async (): Promise<void> => {
    await attempt(actions.saveSettings(removalOf(view, id)));
  };
  const mover = (other: HostedId | undefined, word: string) => {
    const why =
      other === undefined
        ? null
        : (whyFixed({ id, view, drafts }) ?? whyFixed({ id: other, view, drafts }));
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

  if (isEmptyPlace({ id, view }) && held === null) return null;
  return (
    <>
      {mover(HOSTED_IDS[place - 1], words.up)}
      {mover(HOSTED_IDS[place + 1], words.down)}
      <ConfirmButton
        disabled={!control || held !== null}
        title={held === null ? undefined : words.held(held)}
        asks={words.removeTitle(label)}
        text={words.removeText}
        action={words.removeNow(label)}
        onConfirm={remove}
      >
        {words.remove}
        <span className="unseen"> {label}</span>
      </ConfirmButton>
      {held !== null && <span className="quiet">{words.held(held)}</span>}
      <ErrorText text={error} />
    </>
  );
}

/** Why nothing can change places with it; null if something can. */
export function whyFixed({ id, view, drafts }: Placed): string | null {
  if (hasDrafts(drafts, id)) return words.saveFirst;
  const variable = variableOf(view, id);
  return variable === null ? null : words.held(variable);
}

export const isEmptyPlace = ({ id, view }: Pick<Placed, 'id' | 'view'>): boolean =>
  view[id]?.['baseUrl']?.value === null;

/** The first variable that sets a value of the upstream; null if none does. */
const variableOf = (view: SettingsView, id: HostedId): string | null =>
  Object.values(view[id] ?? {}).find(({ source }) => source === 'env')?.env ?? null;

const hasDrafts = (drafts: Drafts, id: HostedId): boolean =>
  Object.keys(drafts).some((path) => path.startsWith(`${id}.`));

/** Every setting of the upstream back to its default, and its key deleted. */
const removalOf = (view: SettingsView, id: HostedId): object => ({
  [id]: Object.fromEntries(Object.keys(view[id] ?? {}).map((key) => [key, null])),
});

/** The upstream has moved to the section of that place: opens it, and moves the focus there. */
function goTo(id: HostedId): void {
  const section = document.getElementById(`section-${id}`);
  if (!(section instanceof HTMLDetailsElement)) return;
  section.open = true;
  section.querySelector('summary')?.focus();
}
