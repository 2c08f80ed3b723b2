import { Fragment, useEffect, useState } from 'react';
import * as t from '../../text/t.ts';
import type { SettingsState } from '../../api/window-state.ts';
import { Unreadable } from '../../ui/facts.tsx';
import { useWindow } from '../../window-context.ts';
import { AddSource, freeSeats } from '../setup/setup-dialog.tsx';
import { SHARING, SharingSection } from '../sharing/sharing.tsx';
import type { Drafts } from './draft.ts';
import { KeysSection } from './keys-section.tsx';
import { sectionTitle } from './setting-field.tsx';
import { SettingsSection } from './settings-section.tsx';
import { hasAddress } from './upstream-place.tsx';
import { type Section, sectionsOf, matchingFields } from './settings-table.ts';

/** Whether nothing is set up in a section, which only those see who search for it. */
function isEmptySeat({ upstream }: Section, settings: SettingsState): boolean {
  if (upstream === null || upstream === 'local' || settings.kind !== 'read') return false;
  return !hasAddress(settings.view, upstream);
}

interface SettingsProps {
  readonly opened: string | null;
  readonly field: string | null;
  readonly drafts: Drafts;
  readonly onDrafts: (change: (drafts: Drafts) => Drafts) => void;
}

const words = t.settings;

export function Settings({ opened, field, drafts, onDrafts }: SettingsProps) {
  const { data, settings, control, actions } = useWindow();
  const { readSettings } = actions;
  /** Counts changes of keys and addresses, which two sections show. */
  const [revision, setRevision] = useState(0);
  const [query, setQuery] = useState('');
  const onChanged = (): void => {
    setRevision((count) => count + 1);
    void readSettings();
  };
  useEffect(() => {
    const read = (): void => void readSettings();
    read();
    // Another window or an editor may have changed them in the meantime.
    addEventListener('focus', read);
    return () => removeEventListener('focus', read);
  }, [readSettings]);

  const sections = settings.kind === 'read' ? sectionsOf(settings.view) : [];
  const isSearched = query.trim() !== '';
  const titleHas = (title: string) => title.toLowerCase().includes(query.trim().toLowerCase());
  const isFound = (section: Section) =>
    matchingFields(section, sectionTitle(section, data.status.upstreams), query).length > 0;
  const isNothingFound =
    isSearched && ![SHARING, t.keys.title].some(titleHas) && !sections.some(isFound);
  const aimedAt = sections.find(({ id }) => id === opened);
  const isShown = (section: Section) =>
    section === aimedAt || isSearched || !isEmptySeat(section, settings);
  return (
    <>
      <div className="row page-head">
        <div>
          <h1>Settings</h1>
          <p className="quiet">
            Changes apply immediately unless noted. Values set by environment variables must be
            changed there.
          </p>
        </div>
      </div>
      {settings.kind === 'read' && (
        <search>
          <input
            type="search"
            className="settings-search"
            value={query}
            placeholder={words.search}
            aria-label={words.search}
            onChange={({ target }) => setQuery(target.value)}
          />
          <output className="quiet">
            {isNothingFound && `No setting matches “${query.trim()}”.`}
          </output>
        </search>
      )}
      {control && settings.kind === 'unreadable' && (
        <Unreadable
          what="The settings"
          message={settings.message}
          onRetry={() => void readSettings()}
        />
      )}
      {settings.kind === 'unread' && (
        <p className="connecting">
          {control ? t.shell.reading : 'Sign in to view and change settings.'}
        </p>
      )}
      {settings.kind === 'read' && (
        <fieldset className="settings">
          <legend className="unseen">All settings</legend>
          {sections.filter(isShown).map((section) => (
            <Fragment key={section.id}>
              {/* The button stands behind the last source. */}
              {section.id === 'circuit' && control && !isSearched && (
                <AddSource seats={freeSeats(data.judgement)} />
              )}
              <SettingsSection
                {...{ section, query, drafts, onDrafts }}
                view={settings.view}
                open={section.id === (aimedAt?.id ?? 'local')}
                aimedAt={section === aimedAt}
                aimedField={section === aimedAt ? field : null}
              />
            </Fragment>
          ))}
          {control && (
            <>
              <div hidden={isSearched && !titleHas(SHARING)}>
                <SharingSection
                  host={settings.view['gateway']?.['host']}
                  {...{ revision, onChanged }}
                  aimedAt={opened === 'sharing'}
                />
              </div>
              <div hidden={isSearched && !titleHas(t.keys.title)}>
                <KeysSection {...{ revision, onChanged }} />
              </div>
            </>
          )}
        </fieldset>
      )}
    </>
  );
}
