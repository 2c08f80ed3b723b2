export const about = {
  title: 'About and access',
  version: 'Version',
  uptime: 'Running for',
  platform: 'Runs on',
  platformOf: (platform: string, node: string) => `${platform}, Node ${node}`,
  dataDirectory: 'Data directory',
  ssh: {
    title: 'From another computer, through SSH',
    text: (url: string) => `Leave this running on the other computer, then open ${url} there.`,
    what: 'SSH command',
    user: 'user',
    machine: 'this-machine',
  },
  log: {
    title: 'Log',
    none: 'This gateway logs to the console, the journal or the container, not to a file.',
    show: 'Show the log',
    again: 'Refresh',
    label: 'End of the log',
    empty: 'The log is empty.',
    download: 'Download diagnostics',
    downloadHint: 'A file with status, settings, machines and log. Secrets are masked.',
  },
  browsers: {
    title: 'Remembered browsers',
    text: 'They stay signed in after a restart, until you forget them here or they go unused for 90 days.',
    used: (since: string, last: string) => `since ${since}, used ${last}`,
    forget: (name: string) => (
      <>
        Forget<span className="unseen"> {name}</span>
      </>
    ),
    remember: 'Remember this browser',
    name: (browser: string, system: string) => `${browser} on ${system}`,
    desktop: 'Desktop app',
    otherBrowser: 'Browser',
    otherSystem: 'another system',
  },
};
