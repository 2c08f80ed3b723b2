export const shell = {
  reading: 'Loading…',
  tabs: {
    overview: 'Overview',
    providers: 'Machines',
    requests: 'Requests',
    models: 'Models',
    history: 'History',
    settings: 'Settings',
  },
  tryAgain: 'Try again',
  copy: {
    idle: 'Copy',
    copied: 'Copied',
    refused: 'Copy failed',
    of: (what: string) => `Copy ${what}`,
  },
  locked: {
    command: 'command',
  },
};
