/** The search over everything (Ctrl+K). */
export const palette = {
  title: 'Search',
  open: 'Search',
  keys: { mac: '⌘ K', other: 'Ctrl K' },
  hint: 'A page, an upstream, a machine, a setting, or what to do',
  chosen: (text: string, note: string, at: number, count: number) =>
    `${text}, ${note}, ${at} of ${count}`,
  nothing: 'Nothing matches.',
  groups: {
    page: 'page',
    action: 'action',
    upstream: 'upstream',
    machine: 'machine',
    setting: 'setting',
  },
  newChat: 'New chat',
  copyBaseUrl: 'Copy base URL',
  onlyLocal: 'Turn on Local only',
  paidToo: 'Turn off Local only',
  test: (label: string) => `Test ${label}`,
  reset: (label: string) => `Retry ${label} now`,
  prefer: (label: string) => `Try ${label} first for an hour`,
  endPreference: (label: string) => `End “${label} first”`,
  warmUp: (label: string) => `Warm up ${label}`,
  ofThisMachine: (mode: string) => `${mode} this machine`,
  doing: (action: string) => `${action}…`,
  done: 'Done.',
};
