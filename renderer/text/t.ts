import { about } from './en/about.tsx';
import { chat } from './en/chat.ts';
import { history } from './en/history.tsx';
import { joining } from './en/joining.tsx';
import { models } from './en/models.ts';
import { overview } from './en/overview.tsx';
import { palette } from './en/palette.ts';
import { providers } from './en/providers.tsx';
import * as reasons from './en/reasons.ts';
import { attempts, requestDetails, requests, story } from './en/requests.tsx';
import { choiceLabels, rules, settingLabels } from './en/setting-names.ts';
import { keys, settings } from './en/settings.tsx';
import { setup } from './en/setup.tsx';
import { sharing } from './en/sharing.tsx';
import { shell } from './en/shell.tsx';
import { agentStates, machineStates, stateDetails, states } from './en/states.ts';
import { doctor, thisMachine } from './en/this-machine.tsx';
import { usage } from './en/usage.ts';

/**
 * All text of the window: one file per feature, sentences with values as functions. Another language would be another
 * directory with the same shape, chosen here.
 */
export const t = {
  about,
  agentStates,
  attempts,
  chat,
  choiceLabels,
  doctor,
  history,
  joining,
  keys,
  machineStates,
  models,
  overview,
  palette,
  providers,
  reasons,
  requestDetails,
  requests,
  rules,
  settingLabels,
  settings,
  setup,
  sharing,
  shell,
  stateDetails,
  states,
  story,
  thisMachine,
  usage,
};
