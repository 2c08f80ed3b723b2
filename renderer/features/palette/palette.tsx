import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import type { AgentState } from '../../api/agent.ts';
import { isHostedId } from '#shared/ids.ts';
import type { Machines } from '../../api/providers.ts';
import { hashOf, TABS } from '../../route.ts';
import * as t from '../../text/t.ts';
import { Modal } from '../../ui/modal.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow, type WindowContent } from '../../window-context.ts';
import { isResettable, isWarmable } from '../overview/upstream-track.tsx';
import { isPreferable, type UpstreamList } from '../overview/upstream-list.ts';
import { ADD } from '../providers/providers.tsx';
import { namesOf } from '../providers/provider-standing.ts';
import { sectionTitle } from '../settings/setting-field.tsx';
import { sectionsOf } from '../settings/settings-table.ts';
import { ownMachine } from '../this-machine/agent-engine.ts';
import { JOIN } from '../this-machine/join-gateway.tsx';
import { modeActions } from '../this-machine/this-machine.tsx';
import { endOf, testWords } from '../setup/upstream-test.tsx';

interface PaletteProps {
  readonly list: UpstreamList;
  readonly onNewChat: () => void;
  readonly onClose: () => void;
}

const words = t.palette;

export function Palette({ list, onNewChat, onClose }: PaletteProps) {
  const content = useWindow();
  const { value: machines } = useReading(
    content.registry.readList,
    null,
    content.registry.lastList(),
  );
  const { agent } = content;
  const { value: here } = useReading(agent.read, null, agent.last());
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const [said, setSaid] = useState('');
  const id = useId();
  const options = useRef<HTMLUListElement>(null);
  const entries = [
    ...pages(),
    ...actionsOf(content, list, onNewChat),
    ...ownMachineActions(content, here),
    ...upstreamsOf(content),
    ...(machines === null ? [] : machinesOf(machines, ownMachine(here))),
    ...settingsOf(content),
  ];
  const found = foundEntries(entries, query);
  const chosen = Math.min(at, found.length - 1);
  const entry = found[chosen];
  useEffect(() => {
    options.current?.children[chosen]?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);

  const run = async ({ to, text }: Entry): Promise<void> => {
    if (typeof to === 'string') {
      onClose();
      location.hash = to;
      return;
    }
    setSaid(words.doing(text));
    const answer = await to();
    if (answer === null) onClose();
    else setSaid(answer);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && entry !== undefined && !event.nativeEvent.isComposing) {
      event.preventDefault();
      void run(entry);
    }
    const next = placeAfter(event.key, chosen, found.length);
    if (next === null) return;
    event.preventDefault();
    setAt(next);
  };
  return (
    <Modal title={words.title} onClose={onClose}>
      <input
        className="palette-query"
        type="text"
        aria-label={words.title}
        aria-describedby={id}
        autoComplete="off"
        spellCheck={false}
        placeholder={words.hint}
        value={query}
        onChange={({ target }) => {
          setQuery(target.value);
          setAt(0);
          setSaid('');
        }}
        onKeyDown={onKeyDown}
      />
      {/* The focus stays in the field, so what the arrows choose is said. */}
      <output id={id} className="unseen">
        {entry === undefined
          ? ''
          : words.chosen(entry.text, noteOf(entry), chosen + 1, found.length)}
      </output>
      <ul ref={options} className="palette" aria-label={words.title}>
        {found.map((each, index) => (
          <li key={each.id}>
            <button
              type="button"
              tabIndex={-1}
              data-chosen={index === chosen || undefined}
              onPointerMove={() => setAt(index)}
              onClick={() => void run(each)}
            >
              <span className="palette-text">{each.text}</span>
              <span className="palette-note">{noteOf(each)}</span>
            </button>
          </li>
        ))}
      </ul>
      <output className="palette-said">{said || (found.length === 0 && words.nothing)}</output>
    </Modal>
  );
}

const noteOf = ({ note, group }: Entry): string => note || words.groups[group];

function pages(): readonly Entry[] {
  return TABS.map(({ page, hash }) => ({
    id: `page-${page}`,
    group: 'page',
    text: t.shell.tabs[page],
    note: '',
    to: hash,
  }));
}

const action = (name: string, text: string, to: Entry['to']): Entry => ({
  id: `action-${name}`,
  group: 'action',
  text,
  note: '',
  to,
});

const said = async (act: Promise<{ readonly message: string } | null>, done: string = words.done) =>
  (await act)?.message ?? done;

function ownMachineActions(
  { agent, control }: WindowContent,
  here: AgentState | null,
): readonly Entry[] {
  if (!control || here?.kind !== 'on') return [];
  return [
    ...modeActions(here.view).map(({ choice, word, done }) =>
      action(`mode-${choice}`, words.ofThisMachine(word), () => said(agent.setMode(choice), done)),
    ),
    action('join', t.thisMachine.join.open, JOIN),
  ];
}

function actionsOf(
  { data, control, actions, settings }: WindowContent,
  list: UpstreamList,
  onNewChat: () => void,
): readonly Entry[] {
  const always = [
    action('new-chat', words.newChat, async () => {
      onNewChat();
      location.hash = hashOf({ page: 'chat' });
      return null;
    }),
    action('copy', words.copyBaseUrl, async () => {
      try {
        await navigator.clipboard.writeText(data.app.baseUrl);
        return t.shell.copy.copied;
      } catch {
        return t.shell.copy.refusedAloud;
      }
    }),
  ];
  if (!control) return always;
  const { zero, forceZero } = data.status;
  const isHeld =
    settings.kind === 'read' && settings.view['routing']?.['forceZero']?.source === 'env';
  return [
    ...always,
    action('add', t.providers.joinOne, ADD),
    ...(isHeld
      ? []
      : [
          action('zero', forceZero ? words.paidToo : words.onlyLocal, () =>
            said(actions.saveSettings({ routing: { forceZero: !forceZero } })),
          ),
        ]),
    ...list.upstreams.flatMap((view) => {
      const { id, label } = view.report;
      const isTestable = view.condition.kind !== 'missing' && !(zero && id !== 'local');
      const offered = (
        isOffered: boolean,
        name: string,
        text: string,
        to: () => Promise<string>,
      ) => (isOffered ? [action(name, text, to)] : []);
      return [
        ...offered(isTestable, `test-${id}`, words.test(label), () =>
          tested(actions.testUpstream(id)),
        ),
        ...offered(isResettable(view.report), `reset-${id}`, words.reset(label), () =>
          said(actions.resetCircuit(id)),
        ),
        ...offered(view.preferredMs !== null, 'end-preference', words.endPreference(label), () =>
          said(actions.prefer(null)),
        ),
        ...(isHostedId(id) && isPreferable(view, list)
          ? [action(`prefer-${id}`, words.prefer(label), () => said(actions.prefer(id)))]
          : []),
        ...offered(isWarmable(view, data.status), 'warm', words.warmUp(label), () =>
          said(actions.warmUp()),
        ),
      ];
    }),
  ];
}

function upstreamsOf({ data }: WindowContent): readonly Entry[] {
  return data.status.upstreams.map(({ id, label, model }) => ({
    id: `upstream-${id}`,
    group: 'upstream',
    text: label,
    note: model,
    to: hashOf({ page: 'settings', section: id }),
  }));
}

async function tested(test: ReturnType<WindowContent['actions']['testUpstream']>): Promise<string> {
  const { word, detail } = testWords(endOf(await test));
  return `${word} ${detail}`;
}

function machinesOf(machines: Machines, hereId: string | null): readonly Entry[] {
  return [...namesOf(machines)].map(([id, text]) => ({
    id: `machine-${id}`,
    group: 'machine',
    text,
    note: id === hereId ? t.providers.here : '',
    to: hashOf({ page: 'provider', id }),
  }));
}

function settingsOf({ settings, data }: WindowContent): readonly Entry[] {
  if (settings.kind !== 'read') return [];
  return sectionsOf(settings.view).flatMap((section) =>
    section.fields.map(({ key, path, label }) => ({
      id: `setting-${path}`,
      group: 'setting' as const,
      text: label,
      note: sectionTitle(section, data.status.upstreams),
      to: hashOf({ page: 'settings', section: section.id, field: key }),
    })),
  );
}

interface Entry {
  readonly id: string;
  readonly group: 'page' | 'action' | 'upstream' | 'machine' | 'setting';
  readonly text: string;
  /** What tells it from others of the same text; found as well. */
  readonly note: string;
  /** An address to go to, or what to do; an action resolves with what it says, or null to say nothing. */
  readonly to: string | (() => Promise<string | null>);
}

/** As many as fit on the smallest screen with its keyboard open, some of them by scrolling. */
const MAX_ENTRIES = 50;

/** The entries that contain every word of the query, those whose text begins with it first. */
function foundEntries(entries: readonly Entry[], query: string): readonly Entry[] {
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) {
    return entries.filter(({ group }) => group === 'page' || group === 'action');
  }
  const ranked = entries.flatMap((entry, index) => {
    const text = entry.text.toLowerCase();
    const all = `${text} ${entry.note.toLowerCase()}`;
    if (!wanted.every((word) => all.includes(word))) return [];
    const begins = text.startsWith(wanted.join(' ')) ? 0 : 1;
    const isInText = wanted.every((word) => text.includes(word)) ? 0 : 1;
    return [{ entry, rank: 2 * begins + isInText, index }];
  });
  return ranked
    .toSorted((a, b) => a.rank - b.rank || a.index - b.index)
    .slice(0, MAX_ENTRIES)
    .map(({ entry }) => entry);
}

/** The place of the chosen entry after a key; null for keys that do not move. */
function placeAfter(key: string, at: number, count: number): number | null {
  if (count === 0) return null;
  if (key === 'ArrowDown') return (at + 1) % count;
  if (key === 'ArrowUp') return (at + count - 1) % count;
  return null;
}
