import { type ReactNode, useState } from 'react';
import type { AgentView, AgentWish } from '#shared/agent.ts';
import { t } from '../../text/t.ts';
import { ControlButton } from '../../ui/button.tsx';
import { ErrorText } from '../../ui/error-text.tsx';
import { useWindow } from '../../window-context.ts';

interface ModeActionsProps {
  readonly view: AgentView;
  /** Called when a mode was accepted; its button disappears. */
  readonly onTaken: () => void;
  /** Further buttons. */
  readonly children: ReactNode;
}

export function ModeActions({ view, onTaken, children }: ModeActionsProps) {
  const { agent } = useWindow();
  const [isBusy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<{ said: string; error: string | null } | null>(null);
  const note = modeNote(view);

  const choose = async ({ wish, done }: ModeAction): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    const refusal = await agent.setMode(wish);
    setBusy(false);
    setOutcome({ said: refusal ? '' : done, error: refusal?.message ?? null });
    if (!refusal) onTaken();
  };

  return (
    <div className="mode-actions">
      {modeActions(view).map((action) => (
        <ControlButton
          key={action.wish}
          aria-disabled={isBusy || undefined}
          onClick={() => void choose(action)}
        >
          {action.word}
          <span className="unseen">{modes.of}</span>
        </ControlButton>
      ))}
      {children}
      {note !== null && <p className="quiet">{note}</p>}
      <output className="unseen">{outcome?.said ?? ''}</output>
      <ErrorText text={outcome?.error ?? null} />
    </div>
  );
}

/** A mode that the owner can choose now. */
interface ModeAction {
  readonly wish: AgentWish;
  readonly word: string;
  readonly done: string;
}

const { modes } = t.thisMachine;
const RESUME: ModeAction = { wish: 'on', ...modes.on };
const DRAIN: ModeAction = { wish: 'drained', ...modes.drained };
const PAUSE: ModeAction = { wish: 'paused', ...modes.paused };

/** The modes that would change something; none while the agent is leaving. */
export function modeActions({ owner: { wish, mode } }: AgentView): readonly ModeAction[] {
  if (mode === 'leaving') return [];
  switch (wish) {
    case 'on':
      return mode === 'on' ? [DRAIN, PAUSE] : [RESUME, PAUSE];
    case 'drained':
      return mode === 'draining' ? [RESUME, PAUSE] : [RESUME];
    case 'paused':
      return [RESUME];
  }
}

export function modeNote({ owner: { mode, wish } }: AgentView): string | null {
  if (mode === 'on') return modes.both;
  return mode === 'draining' && wish !== 'paused' ? modes.pause : null;
}
