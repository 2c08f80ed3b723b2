/** Standing access, and what an owner looks up when something is wrong. */
export const about = {
  title: 'About and access',
  version: 'Version',
  uptime: 'Running for',
  platform: 'Runs on',
  platformOf: (platform: string, node: string) => `${platform}, Node ${node}`,
  dataDirectory: 'Data directory',
  ssh: {
    title: 'From another computer, through SSH',
    text: (url: string) => `Keep this running there, then open ${url}.`,
    what: 'SSH command',
    user: 'user',
    machine: 'this-machine',
  },
  log: {
    title: 'Log',
    none: 'The log goes to the console, the journal or the container, not to a file.',
    show: 'Show the log',
    again: 'Read again',
    label: 'End of the log',
    empty: 'The log is empty.',
    download: 'Download diagnostics',
    downloadHint: 'A ZIP file with status, settings, machines and log. Secrets are masked.',
  },
  browsers: {
    title: 'Remembered browsers',
    text: 'They keep control when Switchyard or the browser restarts, until they are forgotten here or unused for 90 days.',
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
