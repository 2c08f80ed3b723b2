import { type ReactNode, useState } from 'react';
import type { Condition, Judgement } from '#shared/condition.ts';
import { HOSTED_IDS, type HostedId, type UpstreamId } from '#shared/ids.ts';
import { ControlButton } from '../../ui/buttons.tsx';
import { Modal } from '../../ui/modal.tsx';
import { EngineChoice } from './engine-choice.tsx';
import { HostedForm } from './hosted-form.tsx';

interface SetupDialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function SetupDialog({ title: titleNow, onClose, children }: SetupDialogProps) {
  // Saving changes the upstream's label, but the title must not change while the dialog is open.
  const [title] = useState(titleNow);
  return (
    <Modal title={title} onClose={onClose}>
      <div className="setup-dialog">{children}</div>
    </Modal>
  );
}

/** Seats at which something can be added: of your GPUs, of the first free hosted upstream, and of the rented GPU. */
export interface FreeSeats {
  readonly hasLocal: boolean;
  readonly hosted: HostedId | null;
  readonly hasRented: boolean;
}

/** An empty seat is no station. */
export const isSetUp = (condition: Condition): boolean =>
  condition.kind !== 'missing' || condition.wants === 'key';

export function freeSeats({ conditions }: Judgement): FreeSeats {
  const isFree = (id: UpstreamId) => !isSetUp(conditions[id]);
  return {
    hasLocal: isFree('local'),
    hosted: HOSTED_IDS.find(isFree) ?? null,
    hasRented: isFree('ondemand'),
  };
}

/** A button that asks for a service, not for a seat; nothing if every seat is taken. */
export function AddSource({ seats }: { readonly seats: FreeSeats }) {
  const [isOpen, setOpen] = useState(false);
  const { hasLocal, hosted, hasRented } = seats;
  // It stays open while the last seat is taken in it.
  if (!isOpen && hosted === null && !hasRented) return null;
  const title = hasLocal ? 'Add a model' : 'Add a fallback';
  return (
    <>
      <ControlButton data-add onClick={() => setOpen(true)}>{`+ ${title}`}</ControlButton>
      {isOpen && (
        <SetupDialog title={title} onClose={() => setOpen(false)}>
          <Ways seats={seats} />
        </SetupDialog>
      )}
    </>
  );
}

interface WaysProps {
  readonly seats: FreeSeats;
  readonly onWorks?: () => void;
}

/** The ways to a model: an engine here if there is none yet, or a service. */
export function Ways({ seats: seatsNow, onWorks }: WaysProps) {
  // The seats as they were at the beginning: what is being set up keeps its place.
  const [{ hasLocal, ...seats }] = useState(seatsNow);
  const form = <HostedForm {...seats} onWorks={onWorks} />;
  if (!hasLocal) return form;
  return (
    <div className="ways">
      <div>
        <h3>On this machine</h3>
        <EngineChoice onWorks={onWorks} />
      </div>
      <div>
        <h3>A hosted API, or another machine</h3>
        {form}
      </div>
    </div>
  );
}
