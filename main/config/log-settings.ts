import { atStart, oneOf, setting } from './setting-types.ts';

/** The settings of the log, in section `gateway`. */
export const LOG_SETTINGS = {
  logLevel: atStart(
    setting(
      'LOG_LEVEL',
      oneOf({
        error: 'Errors only.',
        warn: 'Errors and warnings.',
        info: 'Errors, warnings and normal events.',
        debug: 'Everything, for diagnosis.',
      }),
      'info',
      'How much is written to the log.',
    ),
  ),
  logTo: atStart(
    setting(
      'LOG_TO',
      oneOf({
        auto: 'Standard error under systemd and in containers, otherwise the file.',
        file: 'logs/switchyard.log in the data directory; two files of 5 MB are kept.',
        stderr: 'Standard error.',
        stdout: 'Standard output.',
      }),
      'auto',
      'Where the log goes. The desktop app writes the file in any case.',
    ),
  ),
  logFormat: atStart(
    setting(
      'LOG_FORMAT',
      oneOf({
        auto: 'JSON in the file, otherwise text.',
        text: 'One line of text for each event.',
        json: 'One JSON object a line.',
      }),
      'auto',
      'How the lines of the log are written.',
    ),
  ),
};
