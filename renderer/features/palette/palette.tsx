import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import type { AgentState } from '../../api/agent.ts';
import { isHostedId } from '#shared/ids.ts';
import { hashOf, TABS } from '../../route.ts';
import * as t from '../../text/t.ts';
import { Modal } from '../../ui/modal.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useWindow, type WindowContent } from '../../window-context.ts';
import { isResettable, isWarmable } from '../overview/upstream-track.tsx';
import { isPreferable, type UpstreamList, type UpstreamView } from '../overview/upstream-list.ts';
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
    ...TABS.map(({ page, hash }) => entry('page', page, t.shell.tabs[page], hash)),
    ...actionsOf(content, list, onNewChat),
    ...ownMachineActions(content, here),
    ...content.data.status.upstreams.map(({ id: section, label, model }) =>
      entry('upstream', section, label, hashOf({ page: 'settings', section }), model),
    ),
    ...[...namesOf(machines ?? { data: [] })].map(([machine, name]) => {
      const note = machine === ownMachine(here) ? t.providers.here : '';
      return entry('machine', machine, name, hashOf({ page: 'provider', id: machine }), note);
    }),
    ...settingsOf(content),
  ];
  const found = foundEntries(entries, query);
  const chosen = Math.min(at, found.length - 1);
  const selected = found[chosen];
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
    if (event.key === 'Enter' && selected !== undefined && !event.nativeEvent.isComposing) {
      event.preventDefault();
      void run(selected);
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
        {selected && words.chosen(selected.text, selected.note, chosen + 1, found.length)}
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
              <span>{each.text}</span>
              <span className="palette-note quiet one-line">{each.note}</span>
            </button>
          </li>
        ))}
      </ul>
      <output className="palette-said">{said || (found.length === 0 && words.nothing)}</output>
    </Modal>
  );
}

interface Entry {
  readonly id: string;
  readonly group: keyof typeof words.groups;
  readonly text: string;
  /** What tells it from others of the same text; found as well. */
  readonly note: string;
  /** An address to go to, or what to do; an action resolves with what it says, or null to say nothing. */
  readonly to: string | (() => Promise<string | null>);
}

const entry = (
  group: Entry['group'],
  name: string,
  text: string,
  to: Entry['to'],
  note = '',
): Entry => ({ id: `${group}-${name}`, group, text, to, note: note || words.groups[group] });

const said = async (act: Promise<{ readonly message: string } | null>, done: string = words.done) =>
  (await act)?.message ?? done;

function ownMachineActions({ agent, control }: WindowContent, here: AgentState | null) {
  if (!control || here?.kind !== 'on') return [];
  return [
    ...modeActions(here.view).map(({ choice, word, done }) =>
      entry('action', `mode-${choice}`, words.ofThisMachine(word), () =>
        said(agent.setMode(choice), done),
      ),
    ),
    entry('action', 'join', t.thisMachine.join.open, JOIN),
  ];
}

async function copyBaseUrl(baseUrl: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(baseUrl);
    return t.shell.copy.copied;
  } catch {
    return t.shell.copy.refusedAloud;
  }
}

function actionsOf(content: WindowContent, list: UpstreamList, onNewChat: () => void) {
  const { data, control, actions, settings } = content;
  const newChat = async () => {
    onNewChat();
    location.hash = hashOf({ page: 'chat' });
    return null;
  };
  const { forceZero } = data.status;
  const isHeld =
    settings.kind === 'read' && settings.view['routing']?.['forceZero']?.source === 'env';
  const zero = () => said(actions.saveSettings({ routing: { forceZero: !forceZero } }));
  return [
    entry('action', 'new-chat', words.newChat, newChat),
    entry('action', 'copy', words.copyBaseUrl, () => copyBaseUrl(data.app.baseUrl)),
    ...(control ? [entry('action', 'add', t.providers.joinOne, ADD)] : []),
    ...(control && !isHeld
      ? [entry('action', 'zero', forceZero ? words.paidToo : words.onlyLocal, zero)]
      : []),
    ...(control ? list.upstreams.flatMap((view) => upstreamActions(view, list, content)) : []),
  ];
}

function upstreamActions(view: UpstreamView, list: UpstreamList, content: WindowContent) {
  const { report, condition, preferredMs } = view;
  const { id, label } = report;
  const { actions, data } = content;
  const isTestable = condition.kind !== 'missing' && !(data.status.zero && id !== 'local');
  const hosted = isHostedId(id) && isPreferable(view, list) ? id : null;
  const test = async () => {
    const { word, detail } = testWords(endOf(await actions.testUpstream(id)));
    return `${word} ${detail}`;
  };
  const offers: readonly (readonly [boolean, string, string, () => Promise<string>])[] = [
    [isTestable, 'test', words.test(label), test],
    [isResettable(report), 'reset', words.reset(label), () => said(actions.resetCircuit(id))],
    [preferredMs !== null, 'end', words.endPreference(label), () => said(actions.prefer(null))],
    [hosted !== null, 'prefer', words.prefer(label), () => said(actions.prefer(hosted))],
    [isWarmable(view, data.status), 'warm', words.warmUp(label), () => said(actions.warmUp())],
  ];
  return offers.flatMap(([isOffered, name, text, to]) =>
    isOffered ? [entry('action', `${name}-${id}`, text, to)] : [],
  );
}

function settingsOf({ settings, data }: WindowContent): readonly Entry[] {
  if (settings.kind !== 'read') return [];
  return sectionsOf(settings.view).flatMap((section) => {
    const title = sectionTitle(section, data.status.upstreams);
    return section.fields.map(({ key, path, label }) => {
      const to = hashOf({ page: 'settings', section: section.id, field: key });
      return entry('setting', path, label, to, title);
    });
  });
}

/** As many as fit on the smallest screen with its keyboard open, some of them by scrolling. */
const MAX_ENTRIES = 50;

/** The entries that contain every word of the query, those whose text begins with it first. */
function foundEntries(entries: readonly Entry[], query: string): readonly Entry[] {
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) {
    return entries.filter(({ group }) => group === 'page' || group === 'action');
  }
  const ranked = entries.flatMap((each, index) => {
    const text = each.text.toLowerCase();
    const all = `${text} ${each.note.toLowerCase()}`;
    if (!wanted.every((word) => all.includes(word))) return [];
    const begins = text.startsWith(wanted.join(' ')) ? 0 : 1;
    const isInText = wanted.every((word) => text.includes(word)) ? 0 : 1;
    return [{ each, rank: 2 * begins + isInText, index }];
  });
  return ranked
    .toSorted((a, b) => a.rank - b.rank || a.index - b.index)
    .slice(0, MAX_ENTRIES)
    .map(({ each }) => each);
}

/** The place of the chosen entry after a key; null for keys that do not move. */
function placeAfter(key: string, at: number, count: number): number | null {
  if (count === 0) return null;
  if (key === 'ArrowDown') return (at + 1) % count;
  if (key === 'ArrowUp') return (at + count - 1) % count;
  return null;
}
