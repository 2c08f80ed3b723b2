import { type PointerEvent, useEffect, useState } from 'react';
import { HOSTED_IDS, type HostedId, isHostedId, type UpstreamId } from '#shared/ids.ts';
import * as t from '../../text/t.ts';
import { ErrorText } from '../../ui/fields.tsx';
import { useWindow } from '../../window-context.ts';
import { isEmptyPlace, type Placed, whyFixed } from './upstream-place.tsx';

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
