import { type PointerEvent, useEffect, useState } from 'react';
import { HOSTED_IDS, type HostedId, isHostedId, type UpstreamId } from '#shared/ids.ts';
import * as t from '../../text/t.ts';
import { ErrorText } from '../../ui/fields.tsx';
import { useWindow } from '../../window-context.ts';
import type { SettingsView } from '#shared/settings.ts';
import { Button } from '../../ui/buttons.tsx';
import { ConfirmButton } from '../../ui/modal.tsx';
import { useAttempt } from '../../ui/use-optimistic-value.ts';
import type { Drafts } from './draft.ts';

interface Drag {
  readonly fromY: number;
  readonly y: number;
  readonly to: number;
}

interface PlaceHandleProps extends Pick<Placed, 'view' | 'drafts'> {
  /** The upstream of the section; null for other sections. */
  readonly upstream: UpstreamId | null;
}

/** Moves a hosted upstream to another place by dragging. By keys, the buttons in its section do. */
export function PlaceHandle({ upstream, view, drafts }: PlaceHandleProps) {
  if (!isHostedId(upstream) || isEmptyPlace({ id: upstream, view })) return null;
  return <DragHandle id={upstream} {...{ view, drafts }} />;
}

function DragHandle({ id, view, drafts }: Placed) {
  const { control, actions } = useWindow();
  const [drag, setDrag] = useState<Drag | null>(null);
  const [error, setError] = useState<string | null>(null);
  const place = HOSTED_IDS.indexOf(id);
  const isHeld = drag !== null;
  useShownDrag(id, drag);
  useEffect(() => {
    if (!isHeld) return undefined;
    const cancel = ({ key }: KeyboardEvent): void => void (key === 'Escape' && setDrag(null));
    addEventListener('keydown', cancel);
    return () => removeEventListener('keydown', cancel);
  }, [isHeld]);

  const [first, last] = reachOf({ id, view, drafts });
  if (!control || first === last) return null;

  const grab = ({ button, clientY, pointerId, currentTarget }: PointerEvent): void => {
    if (button !== 0) return;
    currentTarget.setPointerCapture(pointerId);
    setError(null);
    setDrag({ fromY: clientY, y: clientY, to: place });
  };
  const targetAt = (y: number) => Math.min(last, Math.max(first, placeAt(id, y)));
  const move = ({ clientY: y }: PointerEvent): void => {
    if (drag !== null) setDrag({ ...drag, y, to: targetAt(y) });
  };
  const drop = async ({ clientY }: PointerEvent): Promise<void> => {
    if (drag === null) return;
    // Not what is drawn, which may be a move behind.
    const path = pathOf(place, targetAt(clientY));
    const refusal = await swapAlong(path, actions.swapUpstreams);
    setError(refusal?.message ?? null);
    setDrag(null);
  };
  return (
    <>
      <span
        className="drag-handle"
        title={t.settings.place.drag}
        aria-hidden="true"
        // In a summary, a click would open the section.
        onClick={(event) => event.preventDefault()}
        onPointerDown={grab}
        onPointerMove={move}
        onPointerUp={(event) => void drop(event)}
        onPointerCancel={() => setDrag(null)}
      />
      <ErrorText text={error} />
    </>
  );
}

/** The first and the last place that it can be moved to: nothing moves past one that is fixed. */
function reachOf(placed: Placed): readonly [number, number] {
  const place = HOSTED_IDS.indexOf(placed.id);
  const isFixed = (at: number) => {
    const id = HOSTED_IDS[at];
    return id === undefined || whyFixed({ ...placed, id }) !== null;
  };
  if (isFixed(place)) return [place, place];
  let [first, last] = [place, place];
  while (!isFixed(first - 1)) first -= 1;
  while (!isFixed(last + 1)) last += 1;
  return [first, last];
}

/** The place at a height of the page: behind all others whose middle is above it. */
function placeAt(id: HostedId, y: number): number {
  return HOSTED_IDS.filter((other) => {
    const { top = Infinity, bottom = Infinity } = sectionOf(other)?.getBoundingClientRect() ?? {};
    return other !== id && (top + bottom) / 2 < y;
  }).length;
}

/** The places that it comes through, both ends included. */
function pathOf(from: number, to: number): readonly HostedId[] {
  const path = HOSTED_IDS.slice(Math.min(from, to), Math.max(from, to) + 1);
  return from <= to ? path : path.toReversed();
}

/** Neighbours change places one after the other, so that those between keep their order. */
async function swapAlong(
  path: readonly HostedId[],
  swap: ReturnType<typeof useWindow>['actions']['swapUpstreams'],
): ReturnType<typeof swap> {
  for (const [index, other] of path.entries()) {
    const id = path[index - 1];
    const refusal = id === undefined ? null : await swap(id, other);
    if (refusal !== null) return refusal;
  }
  return null;
}

const sectionOf = (id: HostedId) => document.getElementById(`section-${id}`);

function useShownDrag(id: HostedId, drag: Drag | null): void {
  useEffect(() => {
    const own = sectionOf(id);
    if (drag === null || own === null) return undefined;
    const place = HOSTED_IDS.indexOf(id);
    const target = sectionOf(HOSTED_IDS[drag.to] ?? id);
    own.style.setProperty('--dragged-by', String(drag.y - drag.fromY));
    own.dataset['dragged'] = '';
    if (target !== null && target !== own) {
      target.dataset['drop'] = drag.to > place ? 'below' : 'above';
    }
    return () => {
      delete own.dataset['dragged'];
      if (target !== null) delete target.dataset['drop'];
    };
  }, [id, drag]);
}

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
